"""What makes two vectors interchangeable, and what must not."""

from dataclasses import replace

import pytest
from manifests import IMAGE, TEXT

from lookbench_inference import space as module
from lookbench_inference.options import EncoderOptions
from lookbench_inference.space import space_of

QUERY = EncoderOptions(role="query", instruction="find it", dimension=4)
NATIVE = EncoderOptions(preset="native", dimension=4)


def changed(manifest, part, **fields):
    return manifest.model_copy(update={part: getattr(manifest, part).model_copy(update=fields)})


def test_the_same_request_lies_in_the_same_space():
    assert space_of(TEXT, QUERY).digest == space_of(TEXT.model_copy(), replace(QUERY)).digest


@pytest.mark.parametrize(
    "change", [{"role": "document"}, {"instruction": "other"}, {"dimension": 3}]
)
def test_role_instruction_and_dimension_of_a_text_count(change):
    assert space_of(TEXT, replace(QUERY, **change)).digest != space_of(TEXT, QUERY).digest


def test_preset_and_version_of_the_preprocessing_count(monkeypatch):
    before = space_of(IMAGE, NATIVE).digest
    assert space_of(IMAGE, replace(NATIVE, preset="lookbench")).digest != before
    monkeypatch.setattr(module, "PREPROCESSING_VERSION", 2)
    assert space_of(IMAGE, NATIVE).digest != before


OTHER = "sha256:" + "1" * 64


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ("graph", {"digest": OTHER}),
        ("graph", {"precision": "fp16"}),
        ("source", {"weights_digest": OTHER}),
        ("source", {"adapter_digest": OTHER}),
        ("text", {"tokenizer_digest": OTHER}),
        ("text", {"max_tokens": 9}),
        ("text", {"padding_side": "left"}),
    ],
)
def test_whatever_made_the_graph_and_its_input_counts(part, field):
    assert space_of(changed(TEXT, part, **field), QUERY).digest != space_of(TEXT, QUERY).digest


def test_what_is_only_informative_does_not_count():
    assert (
        space_of(changed(TEXT, "source", licence="MIT"), QUERY).digest
        == space_of(TEXT, QUERY).digest
    )
