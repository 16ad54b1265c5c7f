import pytest

from lookbench_metrics import map_capped


def test_it_divides_by_what_k_places_can_hold(judge):
    judged = judge([[1, 0, 0, 1, 0]], [[1] * 8])
    assert map_capped.METRIC(judged, 5)[0] == pytest.approx(0.3, abs=1e-15)


def test_a_missed_item_lowers_it(judge):
    assert map_capped.METRIC(judge([[1, 0, 0]], [[1, 1]]), 3).tolist() == [0.5]
