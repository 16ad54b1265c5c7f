import numpy as np
import pytest

from lookbench_metrics import ndcg_exp
from lookbench_metrics.errors import InvalidGrades


@pytest.mark.parametrize(("k", "value"), [(4, 0.714222), (2, 0.609090)])
def test_the_gain_is_two_to_the_grade_minus_one(judge, k, value):
    judged = judge([[1, 3, 0, 2]], [[1, 3, 0, 2]])
    assert ndcg_exp.METRIC(judged, k)[0] == pytest.approx(value, abs=1e-6)


def test_grades_beyond_integer_powers_neither_overflow_nor_exceed_one(judge):
    assert ndcg_exp.METRIC(judge([[32, 64]], [[32, 64]]), 2)[0] == pytest.approx(0.630930, abs=1e-6)


def test_many_of_the_largest_grade_do_not_overflow(judge):
    judged = judge([[0] + [1023] * 9], [[1023] * 9 + [0]])
    value = ndcg_exp.METRIC(judged, 10)[0]
    discounts = 1 / np.log2(np.arange(2, 12))
    assert value == pytest.approx(discounts[1:].sum() / discounts[:-1].sum(), abs=1e-12)


@pytest.mark.parametrize("grade", [1100, 1024, 0.5])
def test_a_grade_without_a_gain_is_refused_and_named(judge, grade):
    judged = judge([[0, 0], [0, 0]], [[1], [grade]], threshold=0.5)
    with pytest.raises(InvalidGrades, match=rf"query row 1 has {grade}.*ndcg_linear"):
        ndcg_exp.METRIC(judged, 2)
