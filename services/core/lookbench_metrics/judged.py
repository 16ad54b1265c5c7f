"""Rankings after judgement: the one input of every metric.

A query's row is independent of every other row, so that a query with nothing
relevant cannot disturb its neighbours.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from lookbench_metrics.errors import InvalidCutoff, InvalidGrades

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Judged:
    """Grades of the rankings of Q queries down to rank K.

    Attributes:
        grades: float64 [Q, K]. Grade of the item at each rank; 0 where it is
            not relevant and past the end of a short gallery.
        ideal: float64 [Q, J]. The largest grades among all candidates of the
            query, descending, padded with 0. J may be below K only where no
            query has more than J graded candidates.
        n_relevant: int64 [Q]. R: candidates with grade >= `threshold` in the
            whole gallery, found or not.
        threshold: the lowest grade that counts as relevant; above 0.

    Raises:
        InvalidGrades: shapes differ, a grade is negative or not finite, or a
            row promises less than its ranking holds. Names the row.
    """

    grades: Floats
    ideal: Floats
    n_relevant: Ints
    threshold: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.threshold) and self.threshold > 0):
            raise InvalidGrades(
                f"the relevance threshold is {self.threshold}; it must be a number above 0",
                threshold=self.threshold,
            )
        _check_shapes(self.grades, self.ideal, self.n_relevant)
        _check_grades("grades", self.grades)
        _check_grades("ideal", self.ideal)
        _check_consistent(self)

    @classmethod
    def binary(cls, hits: Bools, n_relevant: Ints) -> Self:
        """Judge by relevant or not: `hits` bool [Q, K], `n_relevant` int64 [Q].

        The ideal ranking is min(R, K) ones; it is not made wider than K.
        """
        depth = np.arange(hits.shape[1])
        ideal = depth < np.asarray(n_relevant)[:, None]
        return cls(
            grades=hits.astype(np.float64),
            ideal=ideal.astype(np.float64),
            n_relevant=np.asarray(n_relevant, dtype=np.int64),
        )

    @property
    def query_count(self) -> int:
        """Q."""
        return int(self.grades.shape[0])

    @property
    def depth(self) -> int:
        """K, the deepest cutoff that can be computed."""
        return int(self.grades.shape[1])

    @cached_property
    def hits(self) -> Bools:
        """Whether the item at each rank is relevant, bool [Q, K]."""
        return self.grades >= self.threshold

    @cached_property
    def found(self) -> Floats:
        """Relevant items down to each rank, float64 [Q, K]."""
        return np.cumsum(self.hits, axis=1, dtype=np.float64)

    @cached_property
    def ranks(self) -> Floats:
        """1, 2, ... K, float64 [K]."""
        return np.arange(1, self.depth + 1, dtype=np.float64)

    @cached_property
    def reachable(self) -> Floats:
        """min(R, k) at each rank k, float64 [Q, K]."""
        return np.minimum(self.n_relevant[:, None].astype(np.float64), self.ranks)

    def check_cutoff(self, k: int) -> None:
        """Raise InvalidCutoff unless 1 <= k <= K."""
        if not 1 <= k <= self.depth:
            raise InvalidCutoff(
                f"cutoff {k} is outside 1 to {self.depth}, the depth of the judged rankings; "
                "rank deeper or choose a smaller cutoff",
                cutoff=k,
                depth=self.depth,
            )


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; 0 where the denominator is 0."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator > 0)


def _check_shapes(grades: Floats, ideal: Floats, n_relevant: Ints) -> None:
    if grades.ndim != 2 or ideal.ndim != 2 or n_relevant.ndim != 1:
        raise InvalidGrades("grades and ideal must be [Q, K] and [Q, J], n_relevant [Q]")
    rows = {len(grades), len(ideal), len(n_relevant)}
    if len(rows) > 1:
        raise InvalidGrades(
            f"grades have {len(grades)} queries, ideal {len(ideal)}, n_relevant {len(n_relevant)}"
        )


def _check_grades(name: str, grades: Floats) -> None:
    wrong = ~(np.isfinite(grades) & (grades >= 0))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InvalidGrades(
            f"{name} of query row {row} hold {grades[row, column]} at position {column}; "
            "a grade is a finite number from 0",
            row=row,
            position=column,
        )


def _check_consistent(judged: Judged) -> None:
    """Refuse a ranking that holds more than its ideal: its nDCG would exceed 1."""
    width = min(judged.ideal.shape[1], judged.depth)
    best = -np.sort(-judged.grades, axis=1)
    relevant = np.count_nonzero(judged.ideal >= judged.threshold, axis=1)
    checks = {
        "the ideal grades are not in descending order": (np.diff(judged.ideal) > 0).any(axis=1),
        "n_relevant is negative": judged.n_relevant < 0,
        "the ranking holds higher grades than the ideal": _exceeds(best, judged.ideal, width),
        "n_relevant is not what the ideal grades say": relevant
        != np.minimum(judged.n_relevant, judged.ideal.shape[1]),
        "more relevant items were found than n_relevant": judged.hits.sum(axis=1)
        > judged.n_relevant,
        "the ideal is cut above the depth of the ranking": judged.n_relevant.clip(max=judged.depth)
        > judged.ideal.shape[1],
    }
    for problem, wrong in checks.items():
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InvalidGrades(f"query row {row}: {problem}", row=row)


def _exceeds(best: Floats, ideal: Floats, width: int) -> Bools:
    ideal_to_depth = np.zeros_like(best)
    ideal_to_depth[:, :width] = ideal[:, :width]
    over: Bools = np.any(best > ideal_to_depth, axis=1)
    return over
