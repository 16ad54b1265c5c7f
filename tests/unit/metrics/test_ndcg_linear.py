import pytest

from lookbench_metrics import ndcg_linear


@pytest.mark.parametrize(("k", "value"), [(4, 0.788377), (2, 0.678762)])
def test_the_grade_is_the_gain(judge, k, value):
    # pytrec_eval gives the same.
    judged = judge([[1, 3, 0, 2]], [[1, 3, 0, 2]])
    assert ndcg_linear.METRIC(judged, k)[0] == pytest.approx(value, abs=1e-6)


def test_the_threshold_plays_no_part(judge):
    judged = judge([[1, 0]], [[1]], threshold=2)
    assert ndcg_linear.METRIC(judged, 2).tolist() == [1.0]
    assert ndcg_linear.METRIC.relevant(judged).tolist() == [1]
    assert judged.n_relevant.tolist() == [0]


def test_fractions_are_grades_too(judge):
    judged = judge([[0.25, 0.75]], [[0.25, 0.75]], threshold=0.5)
    expected = (0.25 + 0.75 * 0.630930) / (0.75 + 0.25 * 0.630930)
    assert ndcg_linear.METRIC(judged, 2)[0] == pytest.approx(expected, abs=1e-6)
