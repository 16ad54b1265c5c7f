"""Precision: the share of k places that is relevant."""

from lookbench_metrics.judged import Floats, Judged
from lookbench_metrics.metric import Metric


def _curve(judged: Judged) -> Floats:
    return judged.found / judged.ranks


METRIC = Metric(
    name="precision",
    title="Relevant items among the first k, divided by k, also where the gallery is smaller.",
    formula="sum(r_1 .. r_k) / k",
    peers="trec_eval 'P'; ir-measures 'P@k'",
    curve=_curve,
)
