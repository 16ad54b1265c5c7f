"""The two real exports, once a session, and families small enough to export in a second."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from lookbench_core.manifest import ImageInput, Output, Resize
from lookbench_exporter.export import ExportResult, export
from lookbench_exporter.family import Family, LoadedModel, find_family
from lookbench_exporter.quiet import quiet
from lookbench_exporter.request import ExportRequest
from lookbench_exporter.sample_images import default_images
from lookbench_exporter.serving_modules import ImageTower

SIDE = 4


def request_for(family: str, source: str, repository: Path, **options) -> ExportRequest:
    return ExportRequest(family, source, repository, lambda: default_images([]), **options)


def export_default(name: str, repository: Path) -> ExportResult:
    family = find_family(name)
    return export(family, request_for(name, family.default_source, repository), lambda _: None)


@pytest.fixture
def make_request():
    """Options of an export, with generated images."""
    return request_for


@pytest.fixture
def tiny_family():
    """The class: subclass it to break it."""
    return TinyTower


@pytest.fixture(scope="session")
def repository(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def lite0(repository) -> ExportResult:
    return export_default("efficientnet-lite0", repository)


@pytest.fixture(scope="session")
def minilm(repository) -> ExportResult:
    return export_default("sentence", repository)


class TinyTower(Family):
    """Four by four pixels, flattened and multiplied by a seeded matrix."""

    summary = "tiny"
    default_source = "unused"
    hub_files = ()

    def __init__(self, dimension: int = 6) -> None:
        self.dimension = dimension

    def model_name(self, source) -> str:
        return "tiny"

    def weight_files(self, source) -> tuple[Path, ...]:
        return (source.path / "weights.txt",)

    def matrix(self) -> torch.Tensor:
        return torch.randn((self.dimension, SIDE * SIDE * 3), generator=torch.manual_seed(3))

    def load(self, source) -> LoadedModel:
        return LoadedModel(
            kind="image_embedding",
            module=ImageTower(Flat(self.matrix()), (100.0,) * 3, (50.0,) * 3).eval(),
            example={"pixels": torch.zeros((2, SIDE, SIDE, 3), dtype=torch.uint8)},
            axes={"pixels": {0: "batch"}},
            output=Output(
                tensor="embedding", dimension=self.dimension, pooling="flat", normalised=True
            ),
            reference=self.reference,
            libraries={},
            image=ImageInput(
                height=SIDE,
                width=SIDE,
                mean=(100.0,) * 3,
                std=(50.0,) * 3,
                presets={"lookbench": Resize(mode="squash", filter="bilinear")},
                default_preset="lookbench",
            ),
        )

    def reference(self, images: Sequence[np.ndarray]) -> np.ndarray:
        pixels = (np.stack(images).astype(np.float64) - 100) / 50
        rows = pixels.transpose(0, 3, 1, 2).reshape(len(images), -1) @ self.matrix().numpy().T
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class Flat(nn.Module):
    def __init__(self, matrix: torch.Tensor) -> None:
        super().__init__()
        self.matrix = nn.Parameter(matrix)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        return planes.flatten(1) @ self.matrix.T


@pytest.fixture
def tiny_source(tmp_path) -> Path:
    folder = tmp_path / "tiny-source"
    folder.mkdir()
    (folder / "weights.txt").write_text("3")
    return folder


VOCABULARY = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
    *"abcdefghijklmnopqrstuvwxyz0123456789,.;:()!%&'-/",
    *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"),
]  # fmt: skip


@pytest.fixture
def make_sentence_folder(tmp_path):
    """A folder as sentence-transformers saves it: real architecture, small, seeded weights."""

    def make(model_type: str = "bert", **overrides) -> Path:
        import transformers

        folder = tmp_path / f"tiny-{model_type}"
        sizes = {
            "vocab_size": len(VOCABULARY),
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 64,
            "max_position_embeddings": 64,
            "pad_token_id": 0,
            **overrides,
        }
        if model_type == "distilbert":
            sizes |= {"dim": 32, "n_layers": 1, "n_heads": 2, "hidden_dim": 64}
        torch.manual_seed(5)
        with quiet():
            config = transformers.AutoConfig.for_model(model_type, **sizes)
            transformers.AutoModel.from_config(config).save_pretrained(folder)
        _write_tokenizer(folder)
        return folder

    return make


def _write_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    ids = {token: row for row, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_padding(length=16)
    tokenizer.enable_truncation(16)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    settings = {f"{name}_token": token for name, token in names.items()}
    settings |= {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 64}
    settings |= {"model_input_names": ["input_ids", "attention_mask"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
