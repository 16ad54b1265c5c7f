from lookbench_metrics.average_precision import precision_sums


def test_precisions_are_summed_at_the_hits_only(judge):
    sums = precision_sums(judge([[0, 1, 0, 1]], [[1, 1]]))
    assert sums.tolist() == [[0, 0.5, 0.5, 1.0]]
