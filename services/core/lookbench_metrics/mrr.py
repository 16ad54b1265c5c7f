"""Reciprocal rank of the first relevant item within k."""

import numpy as np

from lookbench_metrics.judged import Floats, Judged
from lookbench_metrics.metric import Metric


def _curve(judged: Judged) -> Floats:
    # 1/rank falls with the rank, so the largest so far is that of the first hit.
    return np.maximum.accumulate(judged.hits / judged.ranks, axis=1)


METRIC = Metric(
    name="mrr",
    title="1 / rank of the first relevant item if it is among the first k, else 0.",
    formula="1 / min(i <= k : r_i = 1)",
    peers="look-bench 0.4.0 'MRR'; ir-measures 'RR@k'; trec_eval 'recip_rank' (no cutoff)",
    curve=_curve,
)
