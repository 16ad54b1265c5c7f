"""The report of a run: means over queries, sizes, and what must be known to read them."""

from collections.abc import Iterator, Mapping, Sequence

from lookbench_evaluator.benchmarks.audit import SubsetAudit
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.runs.model import Encoder, Specification
from lookbench_evaluator.runs.results import (
    DuplicateGroup,
    MetricValue,
    RejectedRow,
    Report,
    SubsetSummary,
)
from lookbench_evaluator.tasks.dense_retrieval import Evaluated, EvaluatedSubset
from lookbench_metrics.summary import Mean, mean, overall

OVERALL = "overall"
# Enough to see what is wrong; the counts tell how much there is.
LISTED = 200
Key = tuple[str, str, int]
"""Judgement, metric, cutoff."""


def make_report(spec: Specification, stored: StoredBenchmark, evaluated: Evaluated) -> Report:
    """Numbers of all subsets, the overall micro average where there are several."""
    rejected = stored.rejected()
    audits = [audit for audit in stored.audit() if audit.subset in spec.subsets]
    groups = _duplicates(audits)
    return Report(
        metrics=tuple(_metric_values(spec, stored, evaluated.subsets)),
        subsets=tuple(_summary(subset) for subset in evaluated.subsets),
        headline_judgement=_headline(spec, stored),
        notes=tuple(_notes(spec, stored, evaluated, audits)),
        rejected=tuple(RejectedRow(**vars(row)) for row in rejected[:LISTED]),
        rejected_count=len(rejected),
        truncated_count=evaluated.truncated,
        duplicates=groups[:LISTED],
        duplicate_group_count=len(groups),
    )


def _duplicates(audits: Sequence[SubsetAudit]) -> tuple[DuplicateGroup, ...]:
    """Items of the benchmark as imported, noise included, whatever the run does with them."""
    return tuple(
        DuplicateGroup(
            subset=audit.subset,
            item_ids=group.ids[:LISTED],
            item_count=len(group.ids),
            labels_disagree=group.labels_disagree,
        )
        for audit in audits
        for group in audit.duplicates
    )


def _headline(spec: Specification, stored: StoredBenchmark) -> str:
    chosen = spec.options.judgements
    headline = stored.manifest.headline_judgement
    return headline if headline in chosen else chosen[0]


def _metric_values(
    spec: Specification, stored: StoredBenchmark, subsets: Sequence[EvaluatedSubset]
) -> Iterator[MetricValue]:
    means = {subset.name: _means(spec, subset) for subset in subsets}
    for name, values in means.items():
        for key, found in values.items():
            yield _value(name, key, found)
    expected = [subset.name for subset in stored.manifest.subsets]
    if len(expected) > 1:
        for key in means[subsets[0].name]:
            yield _overall(key, {name: means.get(name, {}).get(key) for name in expected})


def _means(spec: Specification, subset: EvaluatedSubset) -> dict[Key, Mean]:
    policy = spec.options.no_relevant_policy
    return {
        (judgement, metric, cutoff): mean(column, subset.relevant[judgement, metric], policy)
        for judgement, values in subset.values.items()
        for (metric, cutoff), column in values.items()
    }


def _overall(key: Key, parts: Mapping[str, Mean | None]) -> MetricValue:
    """The micro average of all subsets; without a value when one of them is missing."""
    known = [part for part in parts.values() if part is not None]
    whole = Mean(
        overall(parts).value,
        sum(part.query_count for part in known),
        sum(part.no_relevant_count for part in known),
    )
    return _value(OVERALL, key, whole)


def _value(subset: str, key: Key, found: Mean) -> MetricValue:
    judgement, metric, cutoff = key
    return MetricValue(
        subset=subset, judgement=judgement, metric=metric, cutoff=cutoff, **vars(found)
    )


def _summary(subset: EvaluatedSubset) -> SubsetSummary:
    return SubsetSummary(
        subset=subset.name,
        query_count=len(subset.query_ids),
        item_count=len(subset.gallery.ids),
        noise_count=subset.gallery.noise_count,
        tied_query_count=int((subset.ranking.ties > 0).sum()),
    )


def _notes(
    spec: Specification,
    stored: StoredBenchmark,
    evaluated: Evaluated,
    audits: Sequence[SubsetAudit],
) -> Iterator[str]:
    options, manifest = spec.options, stored.manifest
    dense = spec.system.dense
    for encoder in dict.fromkeys((dense.query_encoder, dense.item_encoder)):
        yield _encoder_note(encoder)
    if len(evaluated.subsets) < len(manifest.subsets):
        yield (
            f"{len(evaluated.subsets)} of {len(manifest.subsets)} subsets were evaluated; there "
            "is no overall mean."
        )
    if any(subset.noise for subset in manifest.subsets):
        used = "not part" if options.without_noise else "part"
        yield f"The benchmark's distractors are {used} of the galleries."
    counted = "as 0" if options.no_relevant_policy == "zero" else "not at all"
    yield f"Queries without any relevant item count {counted}."
    if evaluated.truncated:
        yield f"{evaluated.truncated} texts were longer than the model accepts and were cut."
    inside = sum(len(audit.queries_in_gallery) for audit in audits)
    if inside:
        yield f"{inside} queries have the same image or text as an item of their gallery."
    if options.duplicate_policy == "merge":
        yield "Items with identical content were merged; the lowest id stands for them."
    yield from manifest.notes


def _encoder_note(encoder: Encoder) -> str:
    told = {
        "preset": encoder.preset,
        "role": encoder.role,
        "instruction": encoder.instruction,
        "dimensions": encoder.dimension,
    }
    return f"{encoder.model}: " + ", ".join(f"{k} {v}" for k, v in told.items() if v) + "."
