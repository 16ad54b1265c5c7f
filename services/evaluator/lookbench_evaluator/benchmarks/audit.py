"""The same picture under several ids: correct answers that would count as wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lookbench_core.benchmark import Judgement, Subset
from lookbench_evaluator.benchmarks.collection import Collection


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
    holders: dict[str, list[tuple[Collection, int]]] = {}
    for name in (*subset.galleries, *subset.noise):
        part = collections[name]
        for row, digest in enumerate(part.content_digests):
            holders.setdefault(digest, []).append((part, row))
    groups = [_group(rows, judgements) for rows in holders.values() if len(rows) > 1]
    queries = collections[subset.queries]
    found = [
        query
        for query, digest in zip(queries.ids, queries.content_digests, strict=True)
        if digest in holders
    ]
    return SubsetAudit(
        subset.name, tuple(sorted(groups, key=lambda group: group.ids)), tuple(sorted(found))
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
