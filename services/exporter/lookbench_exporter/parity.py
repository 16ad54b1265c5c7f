"""Whether a served graph gives the model's own numbers.

Every sample goes through the reference library alone, through the graph alone,
and through the graph in batches of eight that mix short and long rows. Cosines
are taken in float64.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lookbench_exporter.errors import ExportRefused

Vectors = npt.NDArray[np.float32]
Embed = Callable[[Sequence[int]], Vectors]
"""Positions of samples → float32 [len, D]: one call of the model, as one batch."""

BATCH = 8
MINIMUM_ROWS = 8
MINIMUM_COSINE = {"fp32": 0.9999, "fp16": 0.999}
"""Precision → smallest cosine of a row to the reference that is accepted."""
NORM_TOLERANCE = 1e-4
REPEAT_TOLERANCE = 1e-3
DISTINCT_COSINE = 0.99999


@dataclass(frozen=True)
class Figures:
    """What was measured: cosines to the reference, and of a batched row to itself alone."""

    rows: int
    worst_cosine: float
    mean_cosine: float
    worst_batch_cosine: float


def measure(
    reference: Embed, served: Embed, names: Sequence[str], dimension: int, minimum: float
) -> Figures:
    """Compares a graph with its reference on the samples that `names` names.

    minimum: smallest cosine accepted, for every row.

    Raises ExportRefused naming the check, the sample and the figure.
    """
    if len(names) < MINIMUM_ROWS:
        raise ExportRefused(
            "samples", f"{len(names)} given, at least {MINIMUM_ROWS} needed", samples=len(names)
        )
    expected = _one_by_one(reference, names)
    check_vectors("reference", expected, names, dimension)
    check_distinct(expected)
    alone = _one_by_one(served, names)
    check_vectors("batch 1", alone, names, dimension)
    batched = _in_batches(served, len(names))
    check_vectors(f"batch {BATCH}", batched, names, dimension)
    check_repeats(served)
    to_reference = cosines(alone, expected)
    batched_to_reference = cosines(batched, expected)
    to_self = cosines(batched, alone)
    check_cosines("batch 1 against the reference", to_reference, names, minimum)
    check_cosines(f"batch {BATCH} against the reference", batched_to_reference, names, minimum)
    check_cosines(f"batch {BATCH} against batch 1", to_self, names, minimum)
    every = np.concatenate([to_reference, batched_to_reference])
    return Figures(len(names), float(every.min()), float(every.mean()), float(to_self.min()))


def cosines(left: Vectors, right: Vectors) -> npt.NDArray[np.float64]:
    """Cosine of each row with the same row of the other, float64 [N]."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray((a * b).sum(axis=1) / norms, dtype=np.float64)


def check_vectors(what: str, vectors: Vectors, names: Sequence[str], dimension: int) -> None:
    """float32 [N, dimension], finite, of L2 norm 1."""
    if vectors.shape != (len(names), dimension) or vectors.dtype != np.float32:
        raise ExportRefused(
            "embedding shape",
            f"{what} gave {vectors.dtype} {list(vectors.shape)}, "
            f"not float32 {[len(names), dimension]}",
            shape=list(vectors.shape),
        )
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        name = names[int(np.argmin(finite))]
        raise ExportRefused(
            "finite values",
            f"{what} gave NaN or infinity for {np.sum(~finite)} of {len(names)} samples, "
            f"first for {name!r}",
            sample=name,
        )
    _check_norms(what, np.linalg.norm(vectors.astype(np.float64), axis=1), names)


def _check_norms(what: str, norms: npt.NDArray[np.float64], names: Sequence[str]) -> None:
    worst = int(np.argmax(np.abs(norms - 1)))
    if abs(norms[worst] - 1) > NORM_TOLERANCE:
        raise ExportRefused(
            "unit norm",
            f"{what} gave a vector of norm {norms[worst]:.6g} for {names[worst]!r}",
            sample=names[worst],
            figure=norms[worst],
        )


def check_distinct(vectors: Vectors) -> None:
    """Not all samples get one vector: then cosines to the reference would prove nothing."""
    rows = vectors.astype(np.float64)
    least = float((rows @ rows.T).min())
    if least > DISTINCT_COSINE:
        raise ExportRefused(
            "distinct embeddings",
            f"all samples get nearly one vector (smallest cosine between two {least:.7f}); the "
            "weights are broken or were not loaded",
            figure=least,
        )


def check_repeats(served: Embed) -> None:
    """Four equal rows in one batch give four equal vectors."""
    vectors = served([0, 0, 0, 0])
    spread = float(np.abs(vectors - vectors[0]).max())
    if not spread <= REPEAT_TOLERANCE:
        raise ExportRefused(
            "equal rows",
            f"four equal rows in one batch differ by {spread:.3g}, more than {REPEAT_TOLERANCE}",
            figure=spread,
        )


def check_cosines(
    what: str, values: npt.NDArray[np.float64], names: Sequence[str], minimum: float
) -> None:
    """Every value reaches `minimum`."""
    worst = int(np.argmin(values))
    if not values[worst] >= minimum:
        raise ExportRefused(
            "parity",
            f"{what}: cosine {values[worst]:.6f} for {names[worst]!r}, at least {minimum} needed",
            sample=names[worst],
            figure=values[worst],
            minimum=minimum,
        )


def _one_by_one(embed: Embed, names: Sequence[str]) -> Vectors:
    return np.concatenate([embed([row]) for row in range(len(names))])


def _in_batches(embed: Embed, count: int) -> Vectors:
    """All rows in full batches; the last batch begins again at row 0 to be full."""
    rows = list(range(count)) + list(range(-count % BATCH))
    parts = [embed(rows[start : start + BATCH]) for start in range(0, len(rows), BATCH)]
    return np.concatenate(parts)[:count]
