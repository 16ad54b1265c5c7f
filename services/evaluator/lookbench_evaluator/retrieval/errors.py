"""Errors of vectors and rankings."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from lookbench_core.errors import LookbenchError

Side = Literal["query", "gallery"]
_NAMED = 10


class NonFiniteVectors(LookbenchError):
    """Vectors that have no direction: a NaN, an infinity, or all zeros.

    `rows` int64 [n], ascending, holds every one of them; the caller knows their
    ids. The message names the first few.
    """

    code = "FAILED_PRECONDITION"
    reason = "MODEL_OUTPUT_INVALID"

    def __init__(self, side: Side, rows: npt.NDArray[np.int64]) -> None:
        named = ", ".join(str(row) for row in rows[:_NAMED])
        more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        super().__init__(
            f"{len(rows)} {side} vectors are NaN, infinite or zero and cannot be ranked: "
            f"rows {named}{more}; check the model's output for these inputs",
            side=side,
            rows=named,
            count=len(rows),
        )
        self.side = side
        self.rows = rows


class InvalidVectors(LookbenchError):
    """Vectors, rows or orders whose shape or type does not fit the others."""

    code = "FAILED_PRECONDITION"
    reason = "MODEL_OUTPUT_INVALID"


class EmptyGallery(LookbenchError):
    """There is nothing to rank."""

    code = "FAILED_PRECONDITION"
    reason = "BENCHMARK_INVALID"

    def __init__(self) -> None:
        super().__init__(
            "the gallery is empty; choose a subset with items, or import the benchmark again"
        )


def check_shape(name: str, array: npt.NDArray[np.generic], shape: Sequence[int | None]) -> None:
    """Raise InvalidVectors unless `array` has `shape`; None stands for any length."""
    fits = len(array.shape) == len(shape) and all(
        want is None or have == want for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = "[" + ", ".join("any" if want is None else str(want) for want in shape) + "]"
        raise InvalidVectors(
            f"{name} have shape {list(array.shape)} instead of {wanted}", name=name
        )
