"""Making a specification complete and checking it against its benchmark, before anything runs."""

from collections.abc import Iterable, Sequence

from lookbench_core.benchmark import BenchmarkManifest
from lookbench_evaluator.errors import InvalidField
from lookbench_evaluator.runs.model import Specification
from lookbench_metrics.errors import UnknownMetric
from lookbench_metrics.registry import find


def plan(manifest: BenchmarkManifest, spec: Specification) -> Specification:
    """The specification with subsets, judgements and metrics filled in from the benchmark.

    Raises InvalidField naming what the benchmark has instead.
    """
    subsets = _chosen("run.subsets", spec.subsets, [s.name for s in manifest.subsets])
    judgements = _chosen(
        "run.options.judgements", spec.options.judgements, [j.name for j in manifest.judgements]
    )
    metrics = spec.options.metrics or manifest.default_metrics
    _check_metrics(metrics)
    options = spec.options.model_copy(update={"judgements": judgements, "metrics": metrics})
    return spec.model_copy(update={"subsets": subsets, "options": options})


def _chosen(field: str, asked: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """What was asked for in the benchmark's order; everything when nothing was."""
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise InvalidField(field, f"the benchmark has no {unknown[0]!r}; it has {', '.join(known)}")
    return tuple(name for name in known if not asked or name in asked)


def _check_metrics(metrics: Iterable[str]) -> None:
    for name in metrics:
        try:
            find(name)
        except UnknownMetric as error:
            raise InvalidField("run.options.metrics", error.message) from error
