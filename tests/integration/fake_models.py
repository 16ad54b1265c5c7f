"""The two models of the fake Triton: what they compute, and their folders for an evaluator.

Their numbers do not depend on how rows are batched or padded.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

from lookbench_core.digests import file_digest
from lookbench_core.manifest import ModelManifest, write_manifest
from lookbench_core.tensors import (
    ATTENTION_MASK_INPUT,
    CONFIG_FILE,
    EMBEDDING_OUTPUT,
    IMAGE_INPUT,
    TOKEN_IDS_INPUT,
)

SIZE = 8
BATCH = 8
MAX_TOKENS = 64
COLOURS, LETTERS = "mean-colour", "letters"
DIGEST = "sha256:" + "0" * 64
OTHER_DIGEST = "sha256:" + "1" * 64
# One row a code point, drawn once: any text of ASCII has a direction of its own.
DIRECTIONS = np.random.default_rng(7).normal(size=(128, 16))


def colours_of(tensors):
    """Unit vectors float32 [B, 12]: mean RGB of the four quarters, each plus one."""
    pixels = tensors[IMAGE_INPUT].astype(np.float64)
    quarters = pixels.reshape(-1, 2, SIZE // 2, 2, SIZE // 2, 3).mean(axis=(2, 4))
    return unit(quarters.reshape(len(pixels), -1) + 1)


def letters_of(tensors):
    """Unit vectors float32 [B, 16]: the sum of the directions of a text's tokens."""
    rows = zip(tensors[TOKEN_IDS_INPUT], tensors[ATTENTION_MASK_INPUT], strict=True)
    return unit(np.stack([DIRECTIONS[ids[mask == 1]].sum(axis=0) for ids, mask in rows]))


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class Model:
    """What the server tells of a model, and what the model computes."""

    inputs: dict[str, tuple[str, tuple[int, ...]]]
    dimension: int
    compute: Callable
    digest: str = DIGEST
    version: str = "1"


MODELS = {
    COLOURS: Model({IMAGE_INPUT: ("UINT8", (-1, SIZE, SIZE, 3))}, 12, colours_of),
    LETTERS: Model(
        {TOKEN_IDS_INPUT: ("INT64", (-1, -1)), ATTENTION_MASK_INPUT: ("INT64", (-1, -1))},
        16,
        letters_of,
    ),
}


def publish(repository, *names, digest=DIGEST):
    """Model folders for an evaluator: manifest, config.pbtxt and tokenizer, no graph."""
    for name in names or MODELS:
        folder = repository / name
        folder.mkdir(parents=True)
        (folder / CONFIG_FILE).write_text(f'name: "{name}"\n')
        write_manifest(manifest_of(name, folder, digest), folder)
    return repository


def manifest_of(name, folder, digest=DIGEST):
    side = image_side() if name == COLOURS else text_side(folder)
    return ModelManifest.model_validate(
        {
            "name": name,
            "family": "test",
            "source": {"kind": "folder", "id": name, "weights_digest": DIGEST},
            "graph": {
                "digest": digest,
                "opset": 18,
                "precision": "fp32",
                "files": ["1/model.onnx"],
                "exporter": {},
            },
            "output": {
                "tensor": EMBEDDING_OUTPUT,
                "dimension": MODELS[name].dimension,
                "pooling": "mean",
                "normalised": True,
            },
            "max_batch_size": BATCH,
            "parity": {
                "reference": "none",
                "inputs": "none",
                "rows": 1,
                "worst_cosine": 1,
                "mean_cosine": 1,
                "batch_sizes": [1],
                "worst_batch_cosine": 1,
            },
            **side,
        }
    )


def image_side():
    return {
        "kind": "image_embedding",
        "image": {
            "height": SIZE,
            "width": SIZE,
            "mean": [0, 0, 0],
            "std": [1, 1, 1],
            "presets": {"native": {"mode": "squash", "filter": "bilinear"}},
            "default_preset": "native",
        },
    }


def text_side(folder):
    """A tokenizer of single characters; those that are no printable ASCII are [UNK]."""
    vocabulary = {"[PAD]": 0, "[UNK]": 1, **{chr(code): code for code in range(32, 127)}}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Split("", "isolated")
    tokenizer.save(str(folder / "tokenizer.json"))
    return {
        "kind": "text_embedding",
        "text": {
            "tokenizer_file": "tokenizer.json",
            "tokenizer_digest": file_digest(folder / "tokenizer.json"),
            "max_tokens": MAX_TOKENS,
            "padding": "longest",
            "padding_side": "right",
            "pad_id": 0,
            "pad_token": "[PAD]",
            "has_attention_mask": True,
            "templates": {"query": "{text}", "document": "{text}"},
        },
    }
