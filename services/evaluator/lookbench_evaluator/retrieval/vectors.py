"""Float32 vectors: norms, directions, and where to cut them."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from lookbench_evaluator.retrieval.errors import (
    InvalidVectors,
    NonFiniteVectors,
    Side,
    check_shape,
)

Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Float64 copies of so many numbers (768 KB) stay in a core's cache and come from
# memory that the process has already.
_CHUNK_NUMBERS = 98304
UNIT_TOLERANCE = 2.0**-19
"""How far a row's `squared_norms` may be from 1 and the row still be a unit vector."""


def norms(vectors: Vectors) -> Floats:
    """Compute the L2 norm of each row in float64, [N]; NaN or Inf where a component is.

    Squares of float32 numbers are exact in float64 and cannot overflow or
    vanish there; their sum's order depends on D alone. So a row's norm is the
    same in any block, and 0 only for a row of zeros.
    """
    result = np.empty(len(vectors))
    for rows in chunks(len(vectors), _chunk_rows(vectors)):
        squares = vectors[rows].astype(np.float64)
        with np.errstate(invalid="ignore"):
            squares *= squares
            result[rows] = np.sqrt(squares.sum(axis=1))
    return result


def cosines(
    left: Vectors, left_norms: Floats, left_rows: Ints, right: Vectors, right_rows: Ints
) -> Floats:
    """Compute the cosine of pairs of rows in float64, [n]; `left_norms` are `norms(left)`.

    As in `norms`, products are exact and the order of the sums depends on D
    alone: the value of a pair does not depend on the company it is in.
    """
    result = np.empty(len(left_rows))
    exact_left = left.astype(np.float64)
    for part in chunks(len(left_rows), _chunk_rows(left)):
        picked = right[right_rows[part]].astype(np.float64)
        products = exact_left[left_rows[part]]
        products *= picked
        picked *= picked
        length = left_norms[left_rows[part]] * np.sqrt(picked.sum(axis=1))
        result[part] = products.sum(axis=1) / length
    return result


def _chunk_rows(vectors: Vectors) -> int:
    return max(16, _CHUNK_NUMBERS // int(vectors.shape[1]))


def chunks(count: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` that cover range(count)."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def unusable_rows(norm: Floats) -> Ints:
    """Find rows without a direction, given their norms: NaN, Inf or zero; int64, ascending."""
    return np.flatnonzero(~np.isfinite(norm) | (norm == 0))


def check_usable(side: Side, norm: Floats) -> None:
    """Raise NonFiniteVectors, naming rows, if a row has no direction."""
    rows = unusable_rows(norm)
    if len(rows):
        raise NonFiniteVectors(side, rows)


def squared_norms(vectors: Vectors) -> Vectors:
    """Compute squared L2 norms quickly in float32, [N]: good enough to recognise unit vectors."""
    with np.errstate(over="ignore", invalid="ignore"):
        squared: Vectors = np.einsum("ij,ij->i", vectors, vectors)
    return squared


def rows_without_direction(vectors: Vectors, squared: Vectors) -> Ints:
    """Find rows that are NaN, infinite or zero, given `squared_norms`; int64, ascending."""
    rows = np.flatnonzero(~(np.abs(squared - 1) <= UNIT_TOLERANCE))
    return rows[unusable_rows(norms(vectors[rows]))]


def directions(vectors: Vectors, squared: Vectors) -> tuple[Vectors, Ints]:
    """Divide rows by their norm unless `squared` float32 [N] says that they are unit vectors.

    Returns:
        float32 [N, D], `vectors` itself if nothing was to be divided; and the
        rows without a direction (NaN, Inf or zero), int64, ascending.
    """
    rows = np.flatnonzero(~(np.abs(squared - 1) <= UNIT_TOLERANCE))
    if not len(rows):
        return vectors, rows
    odd = vectors[rows]
    norm = norms(odd)
    unusable = unusable_rows(norm)
    norm[unusable] = 1.0
    result = np.array(vectors)
    for part in chunks(len(rows), _chunk_rows(vectors)):
        result[rows[part]] = odd[part].astype(np.float64) / norm[part, None]
    return result, rows[unusable]


def check_vectors(name: str, vectors: Vectors, dimension: int | None = None) -> None:
    """Raise InvalidVectors unless `vectors` are float32 [any, `dimension`]."""
    check_shape(name, vectors, (None, dimension))
    if vectors.dtype != np.float32:
        raise InvalidVectors(f"{name} are {vectors.dtype} instead of float32", name=name)
    if vectors.shape[1] == 0:
        raise InvalidVectors(f"{name} have dimension 0", name=name)
