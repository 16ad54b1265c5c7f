"""Judged rankings from plain lists."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from lookbench_metrics.judged import Judged

Judge = Callable[..., Judged]


@pytest.fixture(scope="session")
def judge() -> Judge:
    """`judge(ranked, judged)`: grades in ranked order, and all grades of each query."""

    def build(
        ranked: Sequence[Sequence[float]],
        judged: Sequence[Sequence[float]],
        threshold: float = 1.0,
    ) -> Judged:
        width = max(map(len, judged))
        ideal = [sorted(grades, reverse=True) + [0.0] * (width - len(grades)) for grades in judged]
        relevant = [sum(grade >= threshold for grade in grades) for grades in judged]
        return Judged(
            grades=np.array(ranked, dtype=np.float64),
            ideal=np.array(ideal, dtype=np.float64).reshape(len(judged), width),
            n_relevant=np.array(relevant, dtype=np.int64),
            threshold=threshold,
        )

    return build
