import pytest

from lookbench_metrics.errors import InvalidCutoff
from lookbench_metrics.registry import METRICS


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_no_metric_reads_past_its_cutoff(judge, metric):
    near = judge([[0, 2, 1, 0]], [[2, 1, 1, 1]])
    far = judge([[0, 2, 0, 1]], [[2, 1, 1, 1]])
    assert metric(near, 2).tolist() == metric(far, 2).tolist()


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_a_cutoff_deeper_than_the_ranking_is_refused(judge, metric):
    with pytest.raises(InvalidCutoff, match="cutoff 3"):
        metric(judge([[0, 1]], [[1]]), 3)


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_nothing_relevant_gives_zero(judge, metric):
    assert metric(judge([[0, 0], [1, 0]], [[], [1]]), 2)[0] == 0.0
    assert metric.relevant(judge([[0, 0]], [[0]])).tolist() == [0]
