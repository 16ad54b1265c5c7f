from lookbench_metrics import recall_capped


def test_it_divides_by_what_k_places_can_hold(judge):
    judged = judge([[0, 1, 0, 1, 0]], [[1] * 8])
    assert recall_capped.METRIC(judged, 5).tolist() == [0.4]


def test_it_is_recall_when_k_exceeds_the_relevant_items(judge):
    assert recall_capped.METRIC(judge([[1, 0, 0, 0]], [[1, 1]]), 4).tolist() == [0.5]
