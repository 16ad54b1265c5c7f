"""Manifest against served model, and the defaults of an encoder."""

import pytest

from lookbench_core.manifest import ModelManifest, TextInput
from lookbench_inference.embedders import EncoderOptions, check_contract, completed
from lookbench_inference.errors import ModelContractMismatch
from lookbench_inference.triton import ModelContract, TensorContract

DIGEST = "sha256:" + "0" * 64
BASE = {
    "name": "m",
    "family": "test",
    "source": {"kind": "folder", "id": "x", "weights_digest": DIGEST},
    "graph": {
        "digest": DIGEST,
        "opset": 18,
        "precision": "fp32",
        "files": ["1/model.onnx"],
        "exporter": {},
    },
    "output": {"tensor": "embedding", "dimension": 4, "pooling": "mean", "normalised": True},
    "max_batch_size": 8,
    "parity": {
        "reference": "t",
        "inputs": "t",
        "rows": 1,
        "worst_cosine": 1,
        "mean_cosine": 1,
        "batch_sizes": [1],
        "worst_batch_cosine": 1,
    },
}
IMAGE = ModelManifest.model_validate(
    {
        **BASE,
        "kind": "image_embedding",
        "image": {
            "height": 8,
            "width": 6,
            "mean": [0, 0, 0],
            "std": [1, 1, 1],
            "presets": {
                "native": {
                    "mode": "shortest_edge_crop",
                    "filter": "bicubic",
                    "shortest_edge": 9,
                },
                "lookbench": {"mode": "squash", "filter": "bilinear"},
            },
            "default_preset": "lookbench",
        },
    }
)
TEXT = ModelManifest.model_validate(
    {
        **BASE,
        "kind": "text_embedding",
        "text": TextInput(
            tokenizer_file="tokenizer.json",
            tokenizer_digest=DIGEST,
            max_tokens=16,
            padding="longest",
            padding_side="right",
            pad_id=0,
            pad_token="[PAD]",
            has_attention_mask=True,
            templates={"query": "{instruction} {text}", "document": "{text}"},
            default_instruction="Find it.",
        ).model_dump(),
    }
)
EMBEDDING = {"embedding": TensorContract("FP32", (-1, 4))}


def contract(outputs=EMBEDDING, **inputs):
    return ModelContract(("1",), "", {n: TensorContract(*v) for n, v in inputs.items()}, outputs)


def test_agreement_passes():
    check_contract(IMAGE, contract(pixels=("UINT8", (-1, 8, 6, 3))))
    check_contract(
        TEXT, contract(input_ids=("INT64", (-1, -1)), attention_mask=("INT64", (-1, -1)))
    )


@pytest.mark.parametrize(
    "served",
    [
        contract(pixels=("FP32", (-1, 8, 6, 3))),
        contract(pixels=("UINT8", (-1, 6, 8, 3))),
        contract(pixels=("UINT8", (-1, 8, 6, 3)), extra=("INT64", (-1, 1))),
        contract(
            {"embedding": TensorContract("FP32", (-1, 50, 768))}, pixels=("UINT8", (-1, 8, 6, 3))
        ),
        contract({"other": TensorContract("FP32", (-1, 4))}, pixels=("UINT8", (-1, 8, 6, 3))),
    ],
)
def test_disagreement_names_the_model_and_both_sides(served):
    with pytest.raises(ModelContractMismatch, match="model m: the manifest describes"):
        check_contract(IMAGE, served)


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
