import pytest

from lookbench_metrics import hit, recall, recall_capped


def test_it_divides_by_all_relevant_items(judge):
    judged = judge([[0, 1, 0, 1, 0]], [[1] * 8])
    assert recall.METRIC(judged, 5).tolist() == [0.25]


@pytest.mark.parametrize("row", [[1, 0, 0], [0, 0, 1], [0, 0, 0]])
def test_hit_recall_and_capped_recall_agree_when_one_item_is_relevant(judge, row):
    judged = judge([row], [[1]])
    for k in (1, 2, 3):
        values = {m.METRIC(judged, k)[0] for m in (hit, recall, recall_capped)}
        assert len(values) == 1


def test_a_judgement_counts_once_when_it_was_listed_twice(judge):
    # Relevant {g}, retrieved [g]: recall is 1, not 1/2.
    assert recall.METRIC(judge([[1]], [[1]]), 1).tolist() == [1.0]
