"""Making a specification complete and checking it against its benchmark, before anything runs."""

from collections.abc import Iterable, Sequence

from lookbench_core.benchmark import BenchmarkManifest
from lookbench_evaluator.errors import InvalidField, RowsRejected
from lookbench_evaluator.runs.model import Specification, System
from lookbench_inference.errors import ModelContractMismatch
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
    graded = any(j.kind == "qrels" for j in manifest.judgements if j.name in judgements)
    if spec.options.relevance_threshold != 1 and not graded:
        raise InvalidField(
            "run.options.relevance_threshold", "needs graded judgements; these are of labels"
        )
    options = spec.options.model_copy(update={"judgements": judgements, "metrics": metrics})
    return spec.model_copy(update={"subsets": subsets, "options": options})


def check_rejected(manifest: BenchmarkManifest, spec: Specification) -> None:
    """Raises RowsRejected when rows that the run needs are missing and its policy says no."""
    policy = spec.options.rejected_policy
    if policy == "allow":
        return
    chosen = [s for s in manifest.subsets if s.name in spec.subsets]
    needed = {s.queries for s in chosen}
    if policy == "fail_on_any":
        needed |= {name for s in chosen for name in (*s.galleries, *s.noise)}
    lost = {c.name: c.rows_rejected for c in manifest.collections if c.name in needed}
    count = sum(lost.values())
    if count:
        where = ", ".join(f"{number} of {name}" for name, number in lost.items() if number)
        raise RowsRejected(
            f"benchmarks/{spec.benchmark} lost {count} rows at its import ({where}); "
            f"`lbclient benchmarks show {spec.benchmark}` says why, `--rejected allow` "
            "evaluates without them",
            benchmark=spec.benchmark,
            count=count,
            policy=policy,
        )


def check_spaces(system: System) -> None:
    """Raises ModelContractMismatch when completed encoders cannot share a space."""
    query, item = system.dense.query_encoder, system.dense.item_encoder
    if query.dimension != item.dimension:
        raise ModelContractMismatch(
            f"the query encoder has {query.dimension} dimensions, the item encoder "
            f"{item.dimension}; they do not share a space",
            query_dimension=query.dimension,
            item_dimension=item.dimension,
        )


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
