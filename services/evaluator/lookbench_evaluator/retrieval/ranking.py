"""Rankings, and the total order that they are in.

An item's place depends on its cosine, rounded to 1e-6, and among equals on its
tie rank. Both are packed into one integer, its key, that is smaller the better
the place. Keys of one gallery are distinct, so "the k best" is one set and its
order one order, and the first k of k + m are the first k.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lookbench_evaluator.retrieval.errors import InvalidVectors, check_shape
from lookbench_evaluator.retrieval.vectors import Floats, Ints

MICRO = 1_000_000
"""Scores are whole multiples of 1 / MICRO."""
NO_KEY = int(np.iinfo(np.int64).max)
"""Stands where there is no item; worse than any key."""
NO_ITEM = -1
NO_SCORE = -1.0
"""The least cosine, so that padded rows of scores still descend."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """The K best items of each of Q queries.

    Attributes:
        items: int64 [Q, K], gallery rows, best first; -1 past the end, which
            occurs only where a query has fewer than K candidates. -1 is no
            index: mask with `present` first.
        scores: float64 [Q, K], cosines rounded to 1e-6; -1.0 past the end.
        ties: int64 [Q], neighbours within the ranking that have equal scores.
        item_count: gallery rows that were ranked.
    """

    items: Ints
    scores: Floats
    ties: Ints
    item_count: int

    @property
    def depth(self) -> int:
        """K."""
        return int(self.items.shape[1])

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Where there is an item, bool [Q, K]."""
        present: npt.NDArray[np.bool_] = self.items != NO_ITEM
        return present


@dataclass(frozen=True, eq=False)
class TotalOrder:
    """Packs places into keys and back.

    Attributes:
        tie_rank: int64 [N], a permutation of 0..N-1: the order of items with
            equal scores, from `lookbench_core.ids.code_point_rank`.
        row_of: int64 [N], its inverse.
    """

    tie_rank: Ints
    row_of: Ints

    @classmethod
    def of(cls, tie_rank: Ints) -> "TotalOrder":
        """Check that `tie_rank` is a permutation, else raises InvalidVectors."""
        check_shape("tie ranks", tie_rank, (None,))
        count = len(tie_rank)
        inside = bool(((tie_rank >= 0) & (tie_rank < count)).all())
        if not inside or (np.bincount(tie_rank, minlength=count) > 1).any():
            raise InvalidVectors(f"tie ranks are not a permutation of 0 to {count - 1}")
        row_of = np.empty(count, dtype=np.int64)
        row_of[tie_rank] = np.arange(count)
        return cls(tie_rank, row_of)

    def keys(self, micro: Ints, rows: Ints) -> Ints:
        """Pack the keys of gallery `rows` with scores `micro` / MICRO; of one shape."""
        return (MICRO - micro) * len(self.tie_rank) + self.tie_rank[rows]

    def micro(self, keys: Ints) -> Ints:
        """Unpack scores in units of 1 / MICRO; meaningless for NO_KEY."""
        return MICRO - keys // len(self.tie_rank)

    def ranking(self, keys: Ints, item_count: int) -> Ranking:
        """Decode keys [Q, K], in any order within a row."""
        ordered = np.sort(keys, axis=1)
        present = ordered != NO_KEY
        micro = np.where(present, self.micro(ordered), -MICRO)
        rank = np.where(present, ordered % max(1, len(self.tie_rank)), 0)
        items = np.where(present, self.row_of[rank], NO_ITEM)
        equal = (micro[:, 1:] == micro[:, :-1]) & present[:, 1:]
        return Ranking(items, micro / MICRO, equal.sum(axis=1, dtype=np.int64), item_count)


def merge(rankings: Sequence[Ranking], tie_rank: Ints, k: int) -> Ranking:
    """Make the ranking of a gallery from the rankings of its shards.

    Equals `rank` of all shards together, whatever the cut and the order.

    Args:
        rankings: of the same queries; rows are those of the whole gallery, and
            no row is in two shards. Each at least `k` deep.
        tie_rank: int64 [N], of the whole gallery.
        k: depth of the result, at least 1.

    Raises:
        InvalidVectors: no shards, shards of different queries, too shallow.
    """
    if not rankings:
        raise InvalidVectors("there are no shards to merge")
    for shard in rankings:
        check_shape("shards", shard.items, (len(rankings[0].items), None))
    if k < 1 or min(shard.depth for shard in rankings) < k:
        raise InvalidVectors(f"shards must be ranked at least {k} deep, and k from 1", k=k)
    order = TotalOrder.of(tie_rank)
    keys = np.concatenate([_keys_of(shard, order) for shard in rankings], axis=1)
    best = np.partition(keys, k - 1, axis=1)[:, :k]
    return order.ranking(best, sum(shard.item_count for shard in rankings))


def _keys_of(shard: Ranking, order: TotalOrder) -> Ints:
    micro = np.rint(shard.scores * MICRO).astype(np.int64)
    rows = np.where(shard.present, shard.items, 0)
    return np.where(shard.present, order.keys(micro, rows), NO_KEY)
