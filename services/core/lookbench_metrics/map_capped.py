"""Average precision divided by what k places can hold."""

from lookbench_metrics.average_precision import precision_sums
from lookbench_metrics.judged import Floats, Judged, ratio
from lookbench_metrics.metric import Metric


def _curve(judged: Judged) -> Floats:
    return ratio(precision_sums(judged), judged.reachable)


METRIC = Metric(
    name="map_capped",
    title="Average precision of the first k, divided by min(R, k).",
    formula="sum(r_i * P@i, i <= k) / min(R, k)",
    peers="look-bench 0.4.0 'MAP'; Kaggle 'MAP@k'; torchmetrics and Benhamner's average precision",
    curve=_curve,
)
