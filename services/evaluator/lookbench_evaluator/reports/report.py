"""The report of a run: means over queries, sizes, and what must be known to read them."""

from collections.abc import Iterator, Sequence

import numpy as np

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
from lookbench_metrics.summary import mean

OVERALL = "overall"
# Enough to see what is wrong; the counts tell how much there is.
LISTED = 200


def make_report(spec: Specification, stored: StoredBenchmark, evaluated: Evaluated) -> Report:
    """Numbers of all subsets, the overall micro average where there are several."""
    rejected = stored.rejected()
    audits = [audit for audit in stored.audit() if audit.subset in spec.subsets]
    groups = _duplicates(audits)
    return Report(
        metrics=tuple(_metric_values(spec, evaluated.subsets)),
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
    spec: Specification, subsets: Sequence[EvaluatedSubset]
) -> Iterator[MetricValue]:
    for subset in subsets:
        yield from _means(spec, subset.name, [subset])
    if len(subsets) > 1:
        yield from _means(spec, OVERALL, subsets)


def _means(
    spec: Specification, name: str, subsets: Sequence[EvaluatedSubset]
) -> Iterator[MetricValue]:
    """Means over the queries of all `subsets` together."""
    options = spec.options
    for judgement in options.judgements:
        for key in subsets[0].values[judgement]:
            values = np.concatenate([s.values[judgement][key] for s in subsets])
            relevant = np.concatenate([s.relevant[judgement, key[0]] for s in subsets])
            found = mean(values, relevant, options.no_relevant_policy)
            yield MetricValue(
                subset=name,
                judgement=judgement,
                metric=key[0],
                cutoff=key[1],
                value=found.value,
                query_count=found.query_count,
                no_relevant_count=found.no_relevant_count,
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
