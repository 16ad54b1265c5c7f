import json
from types import SimpleNamespace

import pytest

from lookbench_exporter.errors import SourceInvalid
from lookbench_exporter.families.sentence_folder import read_sentence_folder

BERT = SimpleNamespace(model_type="bert", max_position_embeddings=512)
ROBERTA = SimpleNamespace(model_type="roberta", max_position_embeddings=514)
UNLIMITED = 10**30
"""What transformers gives for a tokenizer without a limit."""


def write(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.with_suffix(".json").write_text(json.dumps(content))


def modules(*kinds):
    return [{"path": f"{n}_{kind}", "type": f"x.{kind}"} for n, kind in enumerate(kinds)]


def test_a_bare_folder_is_read_by_its_architecture(tmp_path):
    described = read_sentence_folder(tmp_path, BERT, UNLIMITED)
    assert described.max_tokens == 512
    assert described.templates == {"query": "{text}", "document": "{text}"}
    assert described.licence == "unknown"


@pytest.mark.parametrize(
    ("published", "config", "tokenizer_limit", "expected"),
    [
        (256, BERT, 512, 256),
        (None, BERT, 128, 128),
        (None, ROBERTA, UNLIMITED, 512),
        (514, ROBERTA, 514, 512),
        (9999, BERT, UNLIMITED, 512),
    ],
)
def test_the_smallest_limit_counts(tmp_path, published, config, tokenizer_limit, expected):
    write(tmp_path, sentence_bert_config={"max_seq_length": published, "do_lower_case": False})
    assert read_sentence_folder(tmp_path, config, tokenizer_limit).max_tokens == expected


@pytest.mark.parametrize(
    "pooling",
    [
        {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False},
        {"pooling_mode": "mean"},
    ],
)
def test_mean_pooling_is_this_familys(tmp_path, pooling):
    write(tmp_path, modules=modules("Transformer", "Pooling", "Normalize"))
    write(tmp_path, **{"1_Pooling__config": pooling})
    read_sentence_folder(tmp_path, BERT, 512)


@pytest.mark.parametrize(
    "pooling",
    [
        {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True},
        {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True},
        {"pooling_mode": "lasttoken"},
    ],
)
def test_another_pooling_is_refused(tmp_path, pooling):
    write(tmp_path, modules=modules("Transformer", "Pooling"))
    write(tmp_path, **{"1_Pooling__config": pooling})
    with pytest.raises(SourceInvalid, match="pools by masked mean"):
        read_sentence_folder(tmp_path, BERT, 512)


def test_a_further_layer_is_refused(tmp_path):
    write(tmp_path, modules=modules("Transformer", "Pooling", "Dense"))
    with pytest.raises(SourceInvalid, match="module Dense"):
        read_sentence_folder(tmp_path, BERT, 512)


def test_lower_casing_outside_the_tokenizer_is_refused(tmp_path):
    write(tmp_path, sentence_bert_config={"do_lower_case": True})
    with pytest.raises(SourceInvalid, match="lower-casing"):
        read_sentence_folder(tmp_path, BERT, 512)


def test_a_prompt_with_a_slot_of_ours_is_refused(tmp_path):
    write(tmp_path, config_sentence_transformers={"prompts": {"query": "find {text} "}})
    with pytest.raises(SourceInvalid, match="slot"):
        read_sentence_folder(tmp_path, BERT, 512)


@pytest.mark.parametrize("line", ["license: mit", 'license: "mit"', "license:  mit  # note"])
def test_the_licence_stands_in_the_readme(tmp_path, line):
    (tmp_path / "README.md").write_text(f"---\nlanguage: en\n{line}\n---\n# Model\n")
    assert read_sentence_folder(tmp_path, BERT, 512).licence == "mit"


def test_a_file_that_is_not_json_is_named(tmp_path):
    (tmp_path / "modules.json").write_text("{")
    with pytest.raises(SourceInvalid, match=r"modules\.json is not JSON"):
        read_sentence_folder(tmp_path, BERT, 512)
