import pytest

from lookbench_metrics import map_r


def test_it_divides_by_all_relevant_items(judge):
    # (1/1 + 2/4) / 8; 0.75 would be the division by hits found.
    assert map_r.METRIC(judge([[1, 0, 0, 1, 0]], [[1] * 8]), 5).tolist() == [0.1875]


def test_a_missed_item_lowers_it(judge):
    assert map_r.METRIC(judge([[1, 0, 0]], [[1, 1]]), 3).tolist() == [0.5]


def test_a_query_without_relevant_items_leaves_its_neighbours_alone(judge):
    # d1 > d2 > d3; q1 {d2}, q2 {}, q3 {d2, d3}.
    judged = judge([[0, 1, 0], [0, 0, 0], [0, 1, 1]], [[1], [], [1, 1]])
    assert map_r.METRIC(judged, 3).tolist() == pytest.approx([0.5, 0, 0.583333], abs=1e-6)
