"""The model manifest: everything a caller must do around the graph.

It stands as `lookbench.json` beside `config.pbtxt` in the model repository.
Whoever embeds with a model reads it; nothing about a model is known elsewhere.
"""

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from lookbench_core.errors import LookbenchError
from lookbench_core.tensors import MANIFEST_FILE

SCHEMA_VERSION: Final = 1
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class ManifestInvalid(LookbenchError):
    """A model folder without a usable manifest."""

    code = "FAILED_PRECONDITION"
    reason = "MODEL_CONTRACT_MISMATCH"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(_Part):
    """Where the weights came from."""

    kind: Literal["hub", "folder", "package"]
    id: str
    revision: str | None = None
    weights_digest: Digest
    adapter_id: str | None = None
    adapter_digest: Digest | None = None
    licence: str = "unknown"
    training_cutoff: str | None = None
    """ISO date; None when the publisher declared none."""
    trust_remote_code: bool = False


class Graph(_Part):
    """The exported graph."""

    digest: Digest
    """`files_digest` of model.onnx and its external data files."""
    opset: int
    precision: Literal["fp32", "fp16", "int8"]
    files: tuple[str, ...]
    """Relative to the model folder, for example `1/model.onnx`."""
    exporter: dict[str, str]
    """Library → version, for example `torch`."""


class Resize(_Part):
    """How an image reaches the graph's size.

    `squash` resizes both sides to the target. `shortest_edge_crop` resizes the
    shorter side to `shortest_edge`, then crops the centre.
    """

    mode: Literal["squash", "shortest_edge_crop"]
    filter: Literal["nearest", "bilinear", "bicubic", "lanczos"]
    shortest_edge: int | None = None

    @model_validator(mode="after")
    def _edge_given(self) -> "Resize":
        if (self.mode == "shortest_edge_crop") != (self.shortest_edge is not None):
            raise ValueError("shortest_edge belongs to shortest_edge_crop, and only to it")
        return self


class ImageInput(_Part):
    """uint8 [B, height, width, 3] in RGB; mean and std are already in the graph."""

    height: int = Field(gt=0)
    width: int = Field(gt=0)
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    """In units of the 0..255 pixel values. Informative: never apply them again."""
    presets: dict[str, Resize]
    default_preset: str

    @model_validator(mode="after")
    def _default_exists(self) -> "ImageInput":
        if self.default_preset not in self.presets:
            raise ValueError(f"default_preset {self.default_preset!r} is not among the presets")
        return self


class TextInput(_Part):
    """int64 token ids and mask."""

    tokenizer_file: str
    tokenizer_digest: Digest
    max_tokens: int = Field(gt=0)
    """Special tokens included."""
    padding: Literal["longest", "max_tokens"]
    padding_side: Literal["left", "right"]
    pad_id: int
    pad_token: str
    has_attention_mask: bool
    templates: dict[str, str]
    """Role → text with `{text}` and, where the role takes one, `{instruction}`."""
    default_instruction: str = ""


class Output(_Part):
    """float32 [B, dimension]."""

    tensor: str
    dimension: int = Field(gt=0)
    pooling: str
    normalised: bool


class Parity(_Part):
    """What the export measured against the reference library."""

    reference: str
    inputs: str
    rows: int
    worst_cosine: float
    mean_cosine: float
    batch_sizes: tuple[int, ...]
    worst_batch_cosine: float
    """Worst cosine of a row in a batch to the same row alone."""


class ModelManifest(_Part):
    """Contents of `lookbench.json`."""

    schema_version: Literal[1] = SCHEMA_VERSION
    name: str
    family: str
    kind: Literal["image_embedding", "text_embedding", "reranker"]
    source: Source
    graph: Graph
    image: ImageInput | None = None
    text: TextInput | None = None
    output: Output
    max_batch_size: int = Field(gt=0)
    parity: Parity

    @model_validator(mode="after")
    def _one_modality(self) -> "ModelManifest":
        if (self.kind == "image_embedding") != (self.image is not None):
            raise ValueError("image describes the input of an image_embedding, and only of it")
        if (self.image is None) == (self.text is None):
            raise ValueError("give image or text, not both")
        return self


def read_manifest(model_dir: Path) -> ModelManifest:
    """The manifest of a model folder.

    Raises ManifestInvalid naming the file and the first wrong field.
    """
    path = model_dir / MANIFEST_FILE
    try:
        return ModelManifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise ManifestInvalid(
            f"{path} does not exist; export the model with lookbench-export", path=path
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ManifestInvalid(f"{path}: {field}: {first['msg']}", path=path, field=field) from None


def write_manifest(manifest: ModelManifest, model_dir: Path) -> None:
    """Writes `lookbench.json` with sorted, readable JSON."""
    text = manifest.model_dump_json(indent=2) + "\n"
    (model_dir / MANIFEST_FILE).write_text(text, encoding="utf-8")
