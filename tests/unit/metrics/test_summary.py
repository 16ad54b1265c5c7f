import numpy as np
import pytest

from lookbench_metrics.errors import InvalidAverage
from lookbench_metrics.summary import Mean, Overall, mean, overall

# AP of d1 > d2 > d3 with q1 {d2}, q2 {}, q3 {d2, d3}.
AP = np.array([0.5, 0.0, 7 / 12])
RELEVANT = np.array([1, 0, 2])


def test_an_empty_query_counts_as_zero_by_default():
    assert mean(AP, RELEVANT).value == pytest.approx(0.361111, abs=1e-6)
    assert (mean(AP, RELEVANT).query_count, mean(AP, RELEVANT).no_relevant_count) == (3, 1)


def test_an_empty_query_can_be_left_out_and_is_counted():
    result = mean(AP, RELEVANT, "exclude")
    assert result.value == pytest.approx(0.541667, abs=1e-6)
    assert (result.query_count, result.no_relevant_count) == (2, 1)


def test_a_mean_of_nothing_is_none_not_nan():
    assert mean(np.zeros(2), np.zeros(2, dtype=np.int64), "exclude") == Mean(None, 0, 2)
    assert mean(np.zeros(0), np.zeros(0, dtype=np.int64)) == Mean(None, 0, 0)


def test_the_order_of_queries_changes_no_bit():
    values = np.random.default_rng(3).random(1011)
    relevant = np.ones(1011, dtype=np.int64)
    assert mean(values, relevant) == mean(values[::-1], relevant)


def test_an_unknown_policy_is_refused():
    with pytest.raises(InvalidAverage, match="zero, exclude"):
        mean(AP, RELEVANT, "skip")


def test_values_and_queries_must_match():
    with pytest.raises(InvalidAverage):
        mean(AP, RELEVANT[:2])


@pytest.mark.parametrize("missing", [None, Mean(None, 0, 5)])
def test_an_incomplete_set_has_no_mean_but_coverage(missing):
    result = overall({"a": Mean(0.8, 10, 0), "b": Mean(0.9, 10, 0), "c": missing})
    assert result == Overall(None, 2, 3, ("c",))
    assert result.coverage == "2 of 3"


def test_an_empty_set_has_no_mean():
    assert overall({}).value is None


def test_micro_weighs_by_queries_as_the_published_leaderboard_does():
    # Marqo-FashionSigLIP, Fine Recall@1 of the four subsets of release v2601.
    values = (66.17, 74.09, 55.15, 74.38)
    counts = (1011, 193, 981, 160)
    parts = {str(n): Mean(v, n, 0) for v, n in zip(values, counts, strict=True)}
    assert overall(parts).value == pytest.approx(62.77, abs=0.01)
    assert overall(parts, "macro").value == pytest.approx(sum(values) / 4)


def test_an_unknown_weighting_is_refused():
    with pytest.raises(InvalidAverage, match="micro, macro"):
        overall({}, "median")
