"""Hit rate: whether anything among the first k is relevant."""

from lookbench_metrics.judged import Floats, Judged
from lookbench_metrics.metric import Metric


def _curve(judged: Judged) -> Floats:
    return (judged.found > 0).astype(float)


METRIC = Metric(
    name="hit",
    title="1 if at least one of the first k is relevant, else 0.",
    formula="max(r_1 .. r_k)",
    peers="LookBench and look-bench 0.4.0 'Recall@K'; trec_eval 'success'; BEIR top_k_accuracy",
    curve=_curve,
)
