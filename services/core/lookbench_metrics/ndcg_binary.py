"""nDCG with gain 1 for a relevant item."""

from lookbench_metrics.gain import normalised
from lookbench_metrics.judged import Floats, Judged
from lookbench_metrics.metric import Metric


def _curve(judged: Judged) -> Floats:
    ideal = judged.n_relevant[:, None] >= judged.ranks
    return normalised(judged.hits.astype(float), ideal.astype(float))


METRIC = Metric(
    name="ndcg_binary",
    title="nDCG where every relevant item gains 1 whatever its grade.",
    formula="sum(r_i / log2(i + 1), i <= k) / sum(1 / log2(i + 1), i <= min(R, k))",
    peers="look-bench 0.4.0 'NDCG'; trec_eval 'ndcg_cut' on 0/1 judgements",
    curve=_curve,
)
