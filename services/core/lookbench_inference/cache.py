"""Interim: the on-disk cache replaces this file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lookbench_inference.space import VectorSpace


@dataclass(frozen=True)
class Hits:
    found: npt.NDArray[np.bool_]
    vectors: npt.NDArray[np.float32]
    truncated: npt.NDArray[np.bool_]


class EmbeddingCache:
    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.folder = folder

    def get(self, space: VectorSpace, digests: Sequence[str]) -> Hits:
        n = len(digests)
        nothing = np.zeros(n, dtype=np.bool_)
        vectors = np.full((n, space.dimension), np.nan, dtype=np.float32)
        return Hits(nothing, vectors, nothing.copy())

    def put(
        self,
        space: VectorSpace,
        digests: Sequence[str],
        vectors: npt.NDArray[np.float32],
        truncated: npt.NDArray[np.bool_],
    ) -> None:
        pass
