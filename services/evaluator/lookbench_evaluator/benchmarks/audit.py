"""The same picture under several ids: correct answers that would count as wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lookbench_core.benchmark import Judgement, Subset
from lookbench_evaluator.benchmarks.collection import Collection
from lookbench_evaluator.benchmarks.content_digests import groups_of_equals


@dataclass(frozen=True)
class DuplicateGroup:
    """Items of one gallery whose contents are byte for byte equal.

    ids: in code-point order. disagreeing: judgements by labels for which the
    items are not interchangeable, because their labels differ.
    """

    ids: tuple[str, ...]
    disagreeing: tuple[str, ...]

    @property
    def labels_disagree(self) -> bool:
        """Whether some judgement tells the items apart."""
        return bool(self.disagreeing)


@dataclass(frozen=True)
class SubsetAudit:
    """Repeated contents in the gallery of one subset, noise included.

    queries_in_gallery: ids of queries whose content is also an item.
    """

    subset: str
    duplicates: tuple[DuplicateGroup, ...]
    queries_in_gallery: tuple[str, ...]


def audit_subset(
    subset: Subset, collections: Mapping[str, Collection], judgements: Sequence[Judgement]
) -> SubsetAudit:
    """Compares contents by digest. `collections` holds those of the subset by name."""
    parts = [collections[name] for name in (*subset.galleries, *subset.noise)]
    raw = np.concatenate([part.content_digests.raw for part in parts])
    starts = np.cumsum([0, *(len(part) for part in parts)])

    def place(position: int) -> tuple[Collection, int]:
        number = int(np.searchsorted(starts, position, side="right")) - 1
        return parts[number], position - int(starts[number])

    groups = [
        _group([place(position) for position in rows.tolist()], judgements)
        for rows in groups_of_equals(raw)
    ]
    queries = collections[subset.queries]
    found = np.flatnonzero(np.isin(queries.content_digests.raw, raw))
    return SubsetAudit(
        subset.name,
        tuple(sorted(groups, key=lambda group: group.ids)),
        tuple(sorted(queries.ids[row] for row in found.tolist())),
    )


def _group(
    rows: Sequence[tuple[Collection, int]], judgements: Sequence[Judgement]
) -> DuplicateGroup:
    disagreeing = [
        rule.name
        for rule in judgements
        if rule.kind == "equal"
        and len({tuple(part.labels[label][row] for label in rule.labels) for part, row in rows}) > 1
    ]
    return DuplicateGroup(tuple(sorted(part.ids[row] for part, row in rows)), tuple(disagreeing))
