"""True recall: the share of all relevant items that is among the first k."""

from lookbench_metrics.judged import Floats, Judged, ratio
from lookbench_metrics.metric import Metric


def _curve(judged: Judged) -> Floats:
    return ratio(judged.found, judged.n_relevant[:, None].astype(float))


METRIC = Metric(
    name="recall",
    title="Relevant items among the first k, divided by all relevant items of the gallery.",
    formula="sum(r_1 .. r_k) / R",
    peers="trec_eval 'recall'; ir-measures 'R@k'; BEIR 'Recall@k'",
    curve=_curve,
)
