"""What a model family is, and which are installed.

A family is one class in one file, named by an entry point of the group
`lookbench.families`; a package of a third party adds one the same way:

    [project.entry-points."lookbench.families"]
    my-encoder = "my_package.my_encoder:MyEncoder"

The module of a family is imported for `--help`, so it imports torch and
other heavy libraries inside `load`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from lookbench_core.manifest import ImageInput, Output, TextInput
from lookbench_exporter.errors import DependencyMissing, FamilyUnusable
from lookbench_exporter.sources import ResolvedSource

if TYPE_CHECKING:
    import torch

GROUP = "lookbench.families"

Vectors = npt.NDArray[np.float32]
Reference = Callable[[Sequence[Any]], Vectors]
"""Raw items → float32 [N, D] by the family's own library, without the served graph.

Items are uint8 arrays [H, W, 3] already resized for an image model, and
strings with their template filled in for a text model.
"""


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory, ready to be exported and compared.

    module: takes the tensors of `example`, gives float32 [B, D]; every
        parameter in float32, in eval mode.
    example: input name → tensor of a batch of two. Tracing needs two: it takes
        an axis of one for a constant.
    axes: input name → axis → name, for every axis that varies; axis 0 always.
    reference: see `Reference`; must not use `module`.
    libraries: library → version, for the manifest.
    files: name → content, written beside config.pbtxt.
    """

    kind: Literal["image_embedding", "text_embedding", "reranker"]
    module: "torch.nn.Module"
    example: Mapping[str, "torch.Tensor"]
    axes: Mapping[str, Mapping[int, str]]
    output: Output
    reference: Reference
    libraries: Mapping[str, str]
    licence: str = "unknown"
    image: ImageInput | None = None
    text: TextInput | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)


class Family(ABC):
    """How models of one architecture are found, loaded and described.

    summary: a sentence for lists.
    default_source: what is exported when the user names nothing.
    hub_files: patterns of the files to fetch from a model hub.
    """

    summary: ClassVar[str]
    default_source: ClassVar[str]
    hub_files: ClassVar[tuple[str, ...]]

    @abstractmethod
    def model_name(self, source: ResolvedSource) -> str:
        """Name of the model when the user gives none."""

    @abstractmethod
    def weight_files(self, source: ResolvedSource) -> tuple[Path, ...]:
        """The files that decide the model's numbers; their digest identifies it.

        Raises SourceInvalid when there are none that this family reads.
        """

    @abstractmethod
    def load(self, source: ResolvedSource) -> LoadedModel:
        """Loads the weights. Raises SourceInvalid for weights of another architecture."""


def family_names() -> list[str]:
    """Names of the installed families, sorted."""
    return sorted(entry_points(group=GROUP).names)


def find_family(name: str) -> Family:
    """The family behind an entry point.

    Raises FamilyUnusable when two packages claim the name or it is no Family,
    DependencyMissing when its module cannot be imported.
    """
    found = tuple(entry_points(group=GROUP, name=name))
    if len(found) != 1:
        raise FamilyUnusable(
            f"{len(found)} packages give the family {name!r}; exactly one must "
            f"(entry points of the group {GROUP})",
            family=name,
            packages=len(found),
        )
    return _instance(found[0])


def _instance(entry: EntryPoint) -> Family:
    try:
        cls = entry.load()
    except ImportError as error:
        raise DependencyMissing(
            f"family {entry.name}: {entry.value} cannot be imported ({error}); "
            "install its package again",
            family=entry.name,
            detail=error,
        ) from error
    if not (isinstance(cls, type) and issubclass(cls, Family)):
        raise FamilyUnusable(
            f"family {entry.name}: {entry.value} is not a subclass of {Family.__qualname__}",
            family=entry.name,
            value=entry.value,
        )
    return cls()
