"""Average precision divided by the number of relevant items."""

from lookbench_metrics.average_precision import precision_sums
from lookbench_metrics.judged import Floats, Judged, ratio
from lookbench_metrics.metric import Metric


def _curve(judged: Judged) -> Floats:
    return ratio(precision_sums(judged), judged.n_relevant[:, None].astype(float))


METRIC = Metric(
    name="map_r",
    title="Average precision of the first k, divided by R; below 1 wherever R exceeds k.",
    formula="sum(r_i * P@i, i <= k) / R",
    peers="trec_eval 'map_cut'; ir-measures 'AP@k'; BEIR 'MAP@k'",
    curve=_curve,
)
