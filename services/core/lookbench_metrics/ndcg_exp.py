"""nDCG with the gain 2^grade - 1."""

import numpy as np

from lookbench_metrics.errors import InvalidGrades
from lookbench_metrics.gain import normalised, with_gain
from lookbench_metrics.judged import Floats, Judged
from lookbench_metrics.metric import Metric

LARGEST_GRADE = 1023
"""2^1024 is beyond float64."""


def _curve(judged: Judged) -> Floats:
    _check(judged.grades)
    _check(judged.ideal)
    # A common factor cancels in nDCG: with each query's largest gain near 1,
    # not even the sum of many gains of 2^1023 overflows.
    top = judged.ideal[:, :1].max(axis=1, initial=0.0, keepdims=True)
    return normalised(_gain(judged.grades, top), _gain(judged.ideal, top))


def _gain(grades: Floats, top: Floats) -> Floats:
    return np.exp2(grades - top) - np.exp2(-top)


def _check(grades: Floats) -> None:
    wrong = (grades != np.floor(grades)) | (grades > LARGEST_GRADE)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        grade = grades[row, column]
        raise InvalidGrades(
            f"ndcg_exp needs whole grades from 0 to {LARGEST_GRADE}; query row {row} has {grade:g}."
            " Use ndcg_linear for such grades",
            row=row,
            grade=grade,
        )


METRIC = Metric(
    name="ndcg_exp",
    title="nDCG where an item gains 2^grade - 1; whole grades up to 1023.",
    formula="sum((2^g_i - 1) / log2(i + 1), i <= k) / the same sum over the ideal order",
    peers="LightGBM and XGBoost 'ndcg' (default gain); TREC web track gdeval 'ndcg'",
    curve=_curve,
    relevant=with_gain,
)
