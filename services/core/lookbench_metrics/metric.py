"""What a metric is."""

from collections.abc import Callable
from dataclasses import dataclass

from lookbench_metrics.judged import Floats, Ints, Judged


def by_threshold(judged: Judged) -> Ints:
    """Return R of each query, int64 [Q]: what counts as relevant for metrics of hit or miss."""
    return judged.n_relevant


@dataclass(frozen=True)
class Metric:
    """A named metric of one ranking, in [0, 1].

    Attributes:
        name: unique, and unambiguous: variants never share a name.
        title: what it says, in a sentence.
        formula: plain text; `r_i` = 1 if rank i is relevant, `g_i` its grade,
            `R` the number of relevant items in the gallery.
        peers: what other libraries call it.
        curve: values at every cutoff 1..K at once, Judged -> float64 [Q, K].
            Column k - 1 depends on the first k ranks only.
        relevant: how many relevant items each query has for this metric,
            Judged -> int64 [Q]. Where it is 0 the metric is 0 and
            `summary.mean` may leave the query out.
    """

    name: str
    title: str
    formula: str
    peers: str
    curve: Callable[[Judged], Floats]
    relevant: Callable[[Judged], Ints] = by_threshold

    def __call__(self, judged: Judged, k: int) -> Floats:
        """Compute the value of each query at cutoff `k`, float64 [Q].

        Raises:
            InvalidCutoff: `k` is below 1 or deeper than the judged rankings.
            InvalidGrades: the metric has no value for these grades.
        """
        judged.check_cutoff(k)
        return self.curve(judged)[:, k - 1]
