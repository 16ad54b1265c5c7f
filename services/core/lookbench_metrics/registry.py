"""The metrics by name."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from lookbench_metrics import (
    hit,
    map_capped,
    map_r,
    mrr,
    ndcg_binary,
    ndcg_exp,
    ndcg_linear,
    precision,
    recall,
    recall_capped,
)
from lookbench_metrics.errors import InvalidCutoff, UnknownMetric
from lookbench_metrics.judged import Floats, Judged
from lookbench_metrics.metric import Metric

_MODULES = (
    hit,
    recall,
    recall_capped,
    precision,
    mrr,
    ndcg_binary,
    ndcg_linear,
    ndcg_exp,
    map_r,
    map_capped,
)
METRICS: Mapping[str, Metric] = MappingProxyType({m.METRIC.name: m.METRIC for m in _MODULES})
"""In the order in which tables show them."""

_AMBIGUOUS: Mapping[str, Sequence[str]] = {
    "ndcg": ("ndcg_binary", "ndcg_linear", "ndcg_exp"),
    "map": ("map_r", "map_capped"),
    "ap": ("map_r", "map_capped"),
}


def find(name: str) -> Metric:
    """Return the metric of that exact name.

    Raises:
        UnknownMetric: there is none (lists those that exist), or the name
            means several (lists the variants).
    """
    if name in METRICS:
        return METRICS[name]
    if name in _AMBIGUOUS:
        variants = ", ".join(_AMBIGUOUS[name])
        raise UnknownMetric(
            f"metric {name!r} has several definitions; choose one of {variants}",
            metric=name,
            variants=variants,
        )
    known = ", ".join(METRICS)
    raise UnknownMetric(f"no metric {name!r}; known are {known}", metric=name, known=known)


def parse(text: str) -> tuple[str, int]:
    """Split `ndcg_binary@10` into name and cutoff.

    Raises:
        UnknownMetric: no such metric, or an ambiguous name.
        InvalidCutoff: no cutoff, or not a whole number from 1.
    """
    name, _, cutoff = text.partition("@")
    metric = find(name)
    if not (cutoff.isascii() and cutoff.isdecimal() and int(cutoff) >= 1):
        raise InvalidCutoff(
            f"{text!r} has no cutoff; write for example {name}@10", metric=text, cutoff=cutoff
        )
    return metric.name, int(cutoff)


def evaluate(
    judged: Judged, names: Iterable[str], cutoffs: Iterable[int]
) -> dict[tuple[str, int], Floats]:
    """Compute values of every metric at every cutoff, (name, k) -> float64 [Q].

    One pass over the rankings a metric, whatever the number of cutoffs.

    Raises:
        UnknownMetric, InvalidCutoff: as above; before anything is computed.
        InvalidGrades: a metric has no value for these grades.
    """
    metrics = [find(name) for name in names]
    depths = list(cutoffs)
    for k in depths:
        judged.check_cutoff(k)
    return {
        (metric.name, k): curve[:, k - 1]
        for metric in metrics
        for curve in (metric.curve(judged),)
        for k in depths
    }
