"""A collection in memory: everything but its contents."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy.typing as npt

from lookbench_core.benchmark import Modality
from lookbench_evaluator.benchmarks.content_digests import ContentDigests


@dataclass(frozen=True)
class Collection:
    """Row i of every field is the same query or item.

    labels: name → object array [N] of strings, None where a row has none.
    groups: None = a group of its own.
    """

    name: str
    modality: Modality
    ids: list[str]
    labels: dict[str, npt.NDArray[Any]]
    groups: list[str | None]
    times: list[datetime | None]
    content_digests: ContentDigests

    def __len__(self) -> int:
        return len(self.ids)
