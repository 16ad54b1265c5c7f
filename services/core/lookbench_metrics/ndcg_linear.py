"""nDCG with the grade as gain."""

from lookbench_metrics.gain import normalised, with_gain
from lookbench_metrics.judged import Floats, Judged
from lookbench_metrics.metric import Metric


def _curve(judged: Judged) -> Floats:
    return normalised(judged.grades, judged.ideal)


METRIC = Metric(
    name="ndcg_linear",
    title="nDCG where an item gains its grade; the relevance threshold plays no part.",
    formula="sum(g_i / log2(i + 1), i <= k) / the same sum over the ideal order",
    peers="trec_eval 'ndcg_cut'; ir-measures 'nDCG@k'; scikit-learn ndcg_score; BEIR 'NDCG@k'",
    curve=_curve,
    relevant=with_gain,
)
