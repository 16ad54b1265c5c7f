"""The space that a model's vectors lie in: what decides a vector apart from the content."""

from dataclasses import asdict, dataclass
from functools import cached_property

from lookbench_core.digests import data_digest
from lookbench_core.manifest import ModelManifest
from lookbench_inference.images import PREPROCESSING_VERSION
from lookbench_inference.options import EncoderOptions


@dataclass(frozen=True)
class VectorSpace:
    """Vectors of equal content in equal spaces are interchangeable.

    prompt: template and instruction around a text; "" for images.
    preprocessing: digest of all that happens to the content before the graph:
        of an image the resize, the size and the version of our own code, of a
        text the tokenizer, the padding and the limit.
    dimension: leading dimensions that are kept.
    """

    model: str
    graph_digest: str
    weights_digest: str
    adapter_digest: str
    role: str
    prompt: str
    preset: str
    preprocessing: str
    precision: str
    dimension: int

    @cached_property
    def digest(self) -> str:
        """`sha256:<hex>` of all fields."""
        return data_digest(asdict(self))


def space_of(manifest: ModelManifest, options: EncoderOptions) -> VectorSpace:
    """The space of a model asked with `completed` options."""
    return VectorSpace(
        model=manifest.name,
        graph_digest=manifest.graph.digest,
        weights_digest=manifest.source.weights_digest,
        adapter_digest=manifest.source.adapter_digest or "",
        role=options.role,
        prompt=_prompt(manifest, options),
        preset=options.preset,
        preprocessing=data_digest(_preprocessing(manifest, options)),
        precision=manifest.graph.precision,
        dimension=options.dimension,
    )


def _prompt(manifest: ModelManifest, options: EncoderOptions) -> str:
    if manifest.text is None:
        return ""
    template = manifest.text.templates.get(options.role, "{text}")
    return template.replace("{instruction}", options.instruction)


def _preprocessing(manifest: ModelManifest, options: EncoderOptions) -> dict[str, object]:
    if manifest.image is not None:
        image = manifest.image
        resize = image.presets[options.preset].model_dump()
        size = [image.height, image.width]
        return {"version": PREPROCESSING_VERSION, "size": size, "resize": resize}
    if manifest.text is not None:
        return manifest.text.model_dump(exclude={"templates", "default_instruction"})
    return {}
