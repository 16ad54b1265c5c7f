"""How a caller asks a model, and what the model has."""

from collections.abc import Iterable
from dataclasses import dataclass

from lookbench_core.manifest import ModelManifest, TextInput
from lookbench_inference.errors import ModelContractMismatch


@dataclass(frozen=True)
class EncoderOptions:
    """How a caller asks a model; empty strings and 0 mean the model's defaults."""

    role: str = ""
    instruction: str = ""
    preset: str = ""
    dimension: int = 0


def completed(manifest: ModelManifest, options: EncoderOptions, usual_role: str) -> EncoderOptions:
    """The options with the model's defaults filled in.

    `usual_role` is taken when no role was asked for and the model has it.
    Raises ModelContractMismatch, listing what the model has, for anything it has not.
    """
    full = manifest.output.dimension
    if options.dimension > full:
        raise ModelContractMismatch(
            f"model {manifest.name} has {full} dimensions, {options.dimension} were asked for",
            model=manifest.name,
            dimension=options.dimension,
        )
    if options.instruction and (manifest.text is None or not _takes_instruction(manifest.text)):
        raise ModelContractMismatch(
            f"model {manifest.name} takes no instruction; leave it out", model=manifest.name
        )
    presets = {} if manifest.image is None else manifest.image.presets
    templates = {} if manifest.text is None else manifest.text.templates
    default_preset = "" if manifest.image is None else manifest.image.default_preset
    default_role = usual_role if usual_role in templates else next(iter(templates), "")
    instruction = "" if manifest.text is None else manifest.text.default_instruction
    return EncoderOptions(
        role=_chosen(manifest, "role", options.role, templates, default_role),
        instruction=options.instruction or instruction,
        preset=_chosen(manifest, "preset", options.preset, presets, default_preset),
        dimension=options.dimension or full,
    )


def _takes_instruction(text: TextInput) -> bool:
    return any("{instruction}" in template for template in text.templates.values())


def _chosen(
    manifest: ModelManifest, what: str, asked: str, known: Iterable[str], default: str
) -> str:
    names = sorted(known)
    if asked and asked not in names:
        raise ModelContractMismatch(
            f"model {manifest.name} has no {what} {asked!r}; it has {', '.join(names) or 'none'}",
            model=manifest.name,
            asked=asked,
        )
    return asked or default
