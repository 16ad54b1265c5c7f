"""The defaults of an encoder."""

import pytest
from manifests import IMAGE, TEXT

from lookbench_inference.errors import ModelContractMismatch
from lookbench_inference.options import EncoderOptions, completed


def test_defaults_are_filled_in():
    assert completed(IMAGE, EncoderOptions(), "query") == EncoderOptions(
        preset="lookbench", dimension=4
    )
    assert completed(TEXT, EncoderOptions(), "query") == EncoderOptions(
        role="query", instruction="Find it.", dimension=4
    )


def test_what_was_asked_for_stays():
    asked = EncoderOptions(role="document", instruction="Other.", dimension=2)
    assert completed(TEXT, asked, "query") == asked


@pytest.mark.parametrize(
    ("manifest", "asked", "message"),
    [
        (IMAGE, EncoderOptions(preset="square"), "no preset 'square'; it has lookbench, native"),
        (TEXT, EncoderOptions(role="passage"), "no role 'passage'; it has document, query"),
        (IMAGE, EncoderOptions(role="query"), "no role 'query'; it has none"),
        (IMAGE, EncoderOptions(dimension=5), "4 dimensions, 5 were asked for"),
    ],
)
def test_what_the_model_lacks_is_refused_with_what_it_has(manifest, asked, message):
    with pytest.raises(ModelContractMismatch, match=message):
        completed(manifest, asked, "query")
