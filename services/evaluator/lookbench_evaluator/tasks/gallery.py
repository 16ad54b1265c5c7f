"""The items that one subset's queries search: its galleries, and the noise unless left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lookbench_core.benchmark import Subset
from lookbench_core.ids import code_point_rank
from lookbench_evaluator.benchmarks.collection import Collection
from lookbench_evaluator.benchmarks.content_digests import groups_of_equals
from lookbench_evaluator.retrieval.blocks import of_file
from lookbench_evaluator.retrieval.vectors import Ints, Vectors


@dataclass(frozen=True)
class Gallery:
    """N candidate items.

    collections: names of the collections, in the order of the rows.
    rows: collection → its rows that are candidates, int64, ascending.
    ids: of the candidates.
    candidate_of: int64, for every row of the unmerged gallery the candidate that
        stands for it; several rows share one only where duplicates are merged.
    all_ids: of the unmerged gallery.
    labels: label → value of every row of the unmerged gallery.
    noise_count: candidates that are distractors.
    """

    collections: tuple[str, ...]
    rows: Mapping[str, Ints]
    ids: Sequence[str]
    candidate_of: Ints
    all_ids: Sequence[str]
    labels: Mapping[str, Sequence[str | None]]
    noise_count: int

    def blocks(self, vectors: Mapping[str, Path]) -> Iterator[tuple[int, Vectors]]:
        """(first candidate, float32 [B, D]) for `exact.rank`, from the collections' files."""
        start = 0
        for name in self.collections:
            rows = self.rows[name]
            for first, block in of_file(vectors[name]):
                left, right = np.searchsorted(rows, (first, first + len(block)))
                kept = rows[left:right] - first
                if len(kept):
                    whole = len(kept) == len(block)
                    yield start + int(left), block if whole else block[kept]
            start += len(rows)

    @property
    def tie_rank(self) -> Ints:
        """int64 [N], the order among equal scores: that of the ids."""
        return code_point_rank(self.ids)


def make_gallery(
    collections: Mapping[str, Collection], subset: Subset, *, without_noise: bool, merge: bool
) -> Gallery:
    """The gallery of one subset, with byte-identical items merged if asked."""
    noise = () if without_noise else subset.noise
    names = (*subset.galleries, *noise)
    parts = [collections[name] for name in names]
    ids = [item for part in parts for item in part.ids]
    kept, candidate_of = _merged(ids, parts) if merge else (np.arange(len(ids)),) * 2
    bounds = np.cumsum([0, *(len(part.ids) for part in parts)])
    rows = {
        name: kept[(kept >= start) & (kept < end)] - start
        for name, start, end in zip(names, bounds[:-1], bounds[1:], strict=True)
    }
    return Gallery(
        names,
        rows,
        [ids[row] for row in kept],
        candidate_of,
        ids,
        _labels(parts),
        sum(len(rows[name]) for name in noise),
    )


def _labels(parts: Sequence[Collection]) -> dict[str, list[str | None]]:
    """Every label that some collection has; None for the rows of those that lack it."""
    names = {name for part in parts for name in part.labels}
    return {
        name: [v for part in parts for v in part.labels.get(name, [None] * len(part.ids))]
        for name in names
    }


def _merged(ids: Sequence[str], parts: Sequence[Collection]) -> tuple[Ints, Ints]:
    """Rows that stand for their equals (the lowest id of each content), and who stands for whom."""
    standing = np.arange(len(ids))
    for rows in groups_of_equals(np.concatenate([part.content_digests.raw for part in parts])):
        standing[rows] = min(rows.tolist(), key=ids.__getitem__)
    kept = np.unique(standing)
    return kept, np.searchsorted(kept, standing)
