from lookbench_metrics import precision


def test_it_divides_by_k_also_when_the_gallery_is_smaller(judge):
    # Three items ranked, the places 4 to 10 are empty.
    judged = judge([[1, 0, 1] + [0] * 7], [[1, 1]])
    assert precision.METRIC(judged, 10).tolist() == [0.2]
