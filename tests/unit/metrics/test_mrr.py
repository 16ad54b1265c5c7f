from lookbench_metrics import mrr


def test_only_the_first_relevant_item_counts(judge):
    assert mrr.METRIC(judge([[1, 0, 1]], [[1, 1]]), 3).tolist() == [1.0]


def test_it_is_zero_when_the_first_relevant_item_is_beyond_k(judge):
    judged = judge([[0, 0, 1, 1]], [[1, 1]])
    assert mrr.METRIC(judged, 2).tolist() == [0.0]
    assert mrr.METRIC(judged, 4).tolist() == [1 / 3]
