"""Recall divided by what k places can hold."""

from lookbench_metrics.judged import Floats, Judged, ratio
from lookbench_metrics.metric import Metric


def _curve(judged: Judged) -> Floats:
    return ratio(judged.found, judged.reachable)


METRIC = Metric(
    name="recall_capped",
    title="Relevant items among the first k, divided by min(R, k), the most that k places hold.",
    formula="sum(r_1 .. r_k) / min(R, k)",
    peers="BEIR 'R_cap@k'",
    curve=_curve,
)
