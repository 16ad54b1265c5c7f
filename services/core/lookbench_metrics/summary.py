"""Means over queries, and over the subsets of a benchmark.

Every metric is computed per query first and averaged afterwards. A mean that
lacks a part is not a mean: an incomplete set has coverage, but no value.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lookbench_metrics.errors import InvalidAverage
from lookbench_metrics.judged import Floats, Ints

Policy = Literal["zero", "exclude"]
"""`zero`: a query with nothing relevant counts as 0 (LookBench's rule, and
trec_eval's with -c). `exclude`: it is left out of the mean. Counted in both."""

Weighting = Literal["micro", "macro"]
"""`micro`: subsets weigh as much as they have queries. `macro`: all the same."""


@dataclass(frozen=True)
class Mean:
    """A mean over queries.

    Attributes:
        value: None when no query could be counted; never NaN.
        query_count: queries in the mean.
        no_relevant_count: queries with nothing relevant, in the mean or left out.
    """

    value: float | None
    query_count: int
    no_relevant_count: int


@dataclass(frozen=True)
class Overall:
    """A mean over subsets. `value` is None unless every subset has one.

    `missing` names the subsets without a value, in the order given.
    """

    value: float | None
    present: int
    expected: int
    missing: tuple[str, ...] = ()

    @property
    def coverage(self) -> str:
        """For example `2 of 3`."""
        return f"{self.present} of {self.expected}"


def mean(values: Floats, n_relevant: Ints, policy: Policy = "zero") -> Mean:
    """Average `values` float64 [Q] under `policy`.

    `n_relevant` int64 [Q] is `metric.relevant(judged)`, which for all but the
    graded nDCGs is `judged.n_relevant`; where it is 0 the value is 0.

    The sum is exact (math.fsum), so that the order of queries cannot change it.

    Raises:
        InvalidAverage: unknown policy, or arrays of different length.
    """
    if policy not in ("zero", "exclude"):
        raise InvalidAverage(f"no policy {policy!r}; known are zero, exclude", policy=policy)
    if values.shape != n_relevant.shape:
        raise InvalidAverage(f"{values.shape} values for {n_relevant.shape} queries")
    empty = n_relevant == 0
    kept = values if policy == "zero" else values[~empty]
    total = math.fsum(kept.tolist())
    return Mean(total / len(kept) if len(kept) else None, len(kept), int(empty.sum()))


def overall(parts: Mapping[str, Mean | None], weighting: Weighting = "micro") -> Overall:
    """Average over subsets, name -> its Mean, or None where it was not computed.

    Raises:
        InvalidAverage: unknown weighting.
    """
    if weighting not in ("micro", "macro"):
        raise InvalidAverage(f"no weighting {weighting!r}; known are micro, macro")
    missing = tuple(name for name, part in parts.items() if part is None or part.value is None)
    present = len(parts) - len(missing)
    if missing or not parts:
        return Overall(None, present, len(parts), missing)
    pairs = [
        (part.value, part.query_count if weighting == "micro" else 1)
        for part in parts.values()
        if part is not None and part.value is not None
    ]
    total = math.fsum(value * weight for value, weight in pairs)
    return Overall(total / sum(weight for _, weight in pairs), present, len(parts))
