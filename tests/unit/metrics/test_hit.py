from lookbench_metrics import hit


def test_one_relevant_item_in_five_is_a_hit(judge):
    # 8 relevant items, the first 5 hold 2 of them.
    judged = judge([[0, 1, 0, 1, 0]], [[1] * 8])
    assert hit.METRIC(judged, 5).tolist() == [1.0]
    assert hit.METRIC(judged, 1).tolist() == [0.0]


def test_a_grade_below_the_threshold_is_no_hit(judge):
    assert hit.METRIC(judge([[1, 0]], [[1, 2]], threshold=2), 2).tolist() == [0.0]
