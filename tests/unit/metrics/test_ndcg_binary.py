import pytest

from lookbench_metrics import ndcg_binary


def test_second_place_is_worth_one_over_log2_of_three(judge):
    assert ndcg_binary.METRIC(judge([[0, 1]], [[1]]), 2)[0] == pytest.approx(0.630930, abs=1e-6)


def test_grades_do_not_weigh(judge):
    judged = judge([[1, 3]], [[1, 3]])
    assert ndcg_binary.METRIC(judged, 2).tolist() == [1.0]


def test_the_threshold_decides_what_is_relevant(judge):
    judged = judge([[1, 3]], [[1, 3]], threshold=2)
    assert ndcg_binary.METRIC(judged, 2)[0] == pytest.approx(0.630930, abs=1e-6)


def test_a_judgement_listed_twice_does_not_enter_the_ideal_twice(judge):
    # 0.613147 is the value with two ideal items.
    assert ndcg_binary.METRIC(judge([[1, 0]], [[1]]), 2).tolist() == [1.0]


def test_queries_are_averaged_one_by_one_not_as_one_list(judge):
    # Labels [0,1,0] by scores [.1,.2,.3] and [1,0,0] by [.8,.1,.05]; flattened 0.919721.
    values = ndcg_binary.METRIC(judge([[0, 1, 0], [1, 0, 0]], [[1], [1]]), 3)
    assert values.tolist() == pytest.approx([0.630930, 1.0], abs=1e-6)
    assert values.mean() == pytest.approx(0.815465, abs=1e-6)
