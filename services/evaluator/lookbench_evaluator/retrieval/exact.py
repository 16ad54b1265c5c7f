"""Exact nearest neighbours by cosine, in one pass over a gallery in blocks.

The order is that of `ranking`: cosine in float64 rounded to 1e-6, descending;
among equals the tie rank, ascending. Computing all cosines that way would be
slow, so float32 finds the candidates and float64 decides.

Why no item is lost. Let u = 2^-24 and q, x two vectors of dimension D, and c
their cosine. What is multiplied in float32 are q' and x': a unit vector rounded
to float32, or a given vector that passed for one. A dot product in float32, in
any order, with or without fused multiply-add, is off by at most g |q'| |x'| with
g = D u / (1 - D u) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
ed., section 3.1). A vector passes if its squared norm, in float32, is within
2^-19 of 1, so if its norm is within g / 2 + 2^-20 of 1. Hence the product s
satisfies |s - c| <= e with e = 2.02 g + 2^-18: g for the product, g / 2 for each
norm, and slack for second-order terms, denormals and the float64 rounding below.

Let t be a number that k products of a query reach. Those k items have c >= t - e.
An item with s < t - 2 e - 10^-6 has c < t - e - 10^-6, so its rounded score is
smaller than theirs: it is not among the k best. As t rises while the gallery
goes by, candidates are weighed once more before they are scored.

What remains is scored in float64. There the products of float32 components
are exact and the order of the sum depends on D alone, so a pair's score depends
on the pair alone: not on blocks, threads or the order of the gallery.

Memory: the k best keys of each query, a block of the gallery, and 50 MB; 250 MB
where all items are equally good, which a matrix product in float64 keeps quick
as well. Time is linear in the gallery.
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from lookbench_evaluator.retrieval.blas import ONE_THREAD_EACH
from lookbench_evaluator.retrieval.errors import (
    EmptyGallery,
    InvalidVectors,
    NonFiniteVectors,
    check_shape,
)
from lookbench_evaluator.retrieval.ranking import MICRO, NO_KEY, Ranking, TotalOrder, merge
from lookbench_evaluator.retrieval.vectors import (
    Floats,
    Ints,
    Vectors,
    check_usable,
    check_vectors,
    chunks,
    cosines,
    directions,
    norms,
    rows_without_direction,
    squared_norms,
)

__all__ = ["Ranking", "merge", "rank"]

TILE_ITEMS = 2048
GROUP_QUERIES = 512
"""Products of a tile and a group (4 MB) are compared while they are in the cache; at most 2^16."""
_MOST_PENDING = 1 << 18
# From this share of a tile on, a matrix product in float64 is quicker than pairs.
_DENSE = 1 / 32
_LOWEST = -2.0
"""Below any cosine with its error, above the -inf of an excluded item."""

Block = tuple[int, Vectors]


def rank(
    queries: Vectors,
    blocks: Iterable[Block],
    tie_rank: Ints,
    k: int,
    exclude: Ints | None = None,
) -> Ranking:
    """Find the `k` best gallery rows of each query.

    Args:
        queries: float32 [Q, D]; need not be of unit norm.
        blocks: (first gallery row, float32 [B, D]), in any order and of any
            sizes; together the gallery, or the shard of it to be ranked.
        tie_rank: int64 [N], a permutation: the order among equal scores, for
            example `lookbench_core.ids.code_point_rank` of the item ids.
        k: depth, at least 1. A smaller gallery leaves -1 at the end.
        exclude: int64 [Q, E], gallery rows that are no candidates for a query
            (such as itself); -1 for none. The places are filled by the next.

    Raises:
        NonFiniteVectors: a query or item is NaN, infinite or zero. Names all
            rows of that side; nothing is ranked.
        EmptyGallery: no items.
        InvalidVectors: shapes or types differ, blocks overlap or leave the
            gallery, tie ranks are no permutation, `k` below 1.
    """
    check_vectors("query vectors", queries)
    if k < 1:
        raise InvalidVectors(f"depth {k} is below 1", k=k)
    if len(tie_rank) == 0:
        raise EmptyGallery
    order = TotalOrder.of(tie_rank)
    excluded = _checked_exclusions(exclude, len(queries), len(tie_rank))
    covered = np.zeros(len(tie_rank), dtype=np.bool_)
    with ONE_THREAD_EACH, _Search(np.ascontiguousarray(queries), order, k, excluded) as search:
        for start, block in blocks:
            check_vectors("gallery vectors", block, queries.shape[1])
            _cover(covered, start, len(block))
            search.add(start, np.ascontiguousarray(block))
        return search.ranking(int(covered.sum()))


def _checked_exclusions(exclude: Ints | None, query_count: int, item_count: int) -> Ints:
    if exclude is None:
        return np.empty((query_count, 0), dtype=np.int64)
    check_shape("excluded rows", exclude, (query_count, None))
    largest = exclude.max(initial=-1)
    if largest >= item_count:
        raise InvalidVectors(f"excluded row {largest} is outside a gallery of {item_count}")
    return exclude


def _cover(covered: npt.NDArray[np.bool_], start: int, count: int) -> None:
    rows = covered[max(start, 0) : start + count]
    if start < 0 or len(rows) < count or rows.any():
        raise InvalidVectors(
            f"gallery rows {start} to {start + count - 1} were given twice, or are outside "
            f"a gallery of {len(covered)}",
            start=start,
            count=count,
        )
    rows[:] = True


def float32_error(dimension: int) -> float:
    """Bound e of the module's docstring: a float32 product's distance from the cosine."""
    unit = dimension * 2.0**-24
    return 2.02 * unit / (1 - unit) + 2.0**-18


@dataclass(frozen=True, eq=False)
class _Tile:
    """Items that are compared at once; `start` is the gallery row of the first."""

    start: int
    vectors: Vectors


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Pairs of a query of a group and an item of a tile, with their float32 products."""

    tile: _Tile
    query: Ints
    item: Ints
    product: Vectors

    def reaching(self, limit: Vectors) -> "_Candidates":
        """Drop pairs below their query's `limit`."""
        kept = self.product >= limit[self.query]
        return _Candidates(self.tile, self.query[kept], self.item[kept], self.product[kept])


class _Search:
    """Shares the queries among threads; each compares its own with every item.

    Threads have nothing in common but the gallery, so that none waits for another
    between the blocks.
    """

    def __init__(self, queries: Vectors, order: TotalOrder, k: int, exclude: Ints) -> None:
        query_norms = norms(queries)
        check_usable("query", query_norms)
        unit, _ = directions(queries, squared_norms(queries))
        self._threads = len(os.sched_getaffinity(0))
        size = max(1, min(GROUP_QUERIES, -(-len(queries) // self._threads)))
        self._groups = [
            _Group(
                queries[rows],
                unit[rows],
                query_norms[rows],
                order=order,
                k=k,
                exclude=exclude[rows],
            )
            for rows in chunks(len(queries), size)
        ]
        self._order, self._k = order, k
        self._unusable: list[Ints] = []
        self._pool = ThreadPoolExecutor(self._threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def add(self, start: int, block: Vectors) -> None:
        """Rank a block's items among the best; it begins at gallery row `start`."""
        squared = np.concatenate(
            list(self._pool.map(squared_norms, np.array_split(block, self._threads)))
        )
        unusable = rows_without_direction(block, squared)
        if len(unusable):
            self._unusable.append(unusable + start)
        if not self._unusable:  # Else the rest is read only to name every row.
            lanes = [self._groups[lane :: self._threads] for lane in range(self._threads)]
            list(self._pool.map(partial(_compare, start, block, squared), lanes))

    def ranking(self, item_count: int) -> Ranking:
        """Return the result, once every block was added."""
        if self._unusable:
            raise NonFiniteVectors("gallery", np.sort(np.concatenate(self._unusable)))
        if not item_count:
            raise EmptyGallery
        empty = np.empty((0, self._k), dtype=np.int64)
        best = np.concatenate([empty, *(group.best for group in self._groups)])
        return self._order.ranking(best, item_count)


def _compare(start: int, block: Vectors, squared: Vectors, groups: Sequence["_Group"]) -> None:
    """Rank a block's items among the best of some groups, on one thread."""
    buffer = np.empty(TILE_ITEMS * GROUP_QUERIES, dtype=np.float32)
    for rows in chunks(len(block), TILE_ITEMS):
        tile = _Tile(start + rows.start, block[rows])
        items, _ = directions(tile.vectors, squared[rows])
        for group in groups:
            group.add(tile, items, buffer)
    for group in groups:  # The block may go once its candidates have their scores.
        group.settle()


class _Group:
    """Some queries and the best that they have seen.

    `best` int64 [q, k] holds keys of items with exact scores. `_nearest`
    float32 [q, k] holds the k largest products so far, negated.
    """

    def __init__(
        self,
        queries: Vectors,
        unit: Vectors,
        query_norms: Floats,
        *,
        order: TotalOrder,
        k: int,
        exclude: Ints,
    ) -> None:
        self._queries = queries
        self._unit = np.ascontiguousarray(unit.T)  # BLAS packs it at a stroke
        self._norms, self._order = query_norms, order
        self._margin = 2 * float32_error(queries.shape[1]) + 1 / MICRO
        self._excluded = _Exclusions(exclude)
        self._nearest = np.full((len(queries), k), np.inf, dtype=np.float32)
        self._pending: list[_Candidates] = []
        self.best = np.full((len(queries), k), NO_KEY, dtype=np.int64)

    def add(self, tile: _Tile, items: Vectors, buffer: Vectors) -> None:
        """Find the tile's candidates; `items` are its vectors at norm 1."""
        shape = len(items), self._unit.shape[1]
        products = buffer[: shape[0] * shape[1]].reshape(shape)
        np.matmul(items, self._unit, out=products)
        self._excluded.apply(products, tile.start)
        mask = products >= self._limit(products)
        item, query = np.divmod(np.flatnonzero(mask), mask.shape[1])
        found = products[item, query]
        _keep_least(self._nearest, query, -found)
        self._pending.append(_Candidates(tile, query, item, found))
        if sum(len(pairs.query) for pairs in self._pending) > _MOST_PENDING:
            self.settle()

    def settle(self) -> None:
        """Score what is pending and keep the best."""
        limit = self._limit()
        pending = [pairs.reaching(limit) for pairs in self._pending]
        self._pending = []
        if pending:
            keys = np.concatenate([self._keys(pairs) for pairs in pending])
            _keep_least(self.best, np.concatenate([pairs.query for pairs in pending]), keys)

    def _keys(self, pairs: _Candidates) -> Ints:
        return self._order.keys(self._micro(pairs), pairs.item + pairs.tile.start)

    def _limit(self, products: Vectors | None = None) -> Vectors:
        """Find the product below which no item is among the k best, float32 [q].

        `products` are those of a tile, which help as long as k were not seen.
        """
        kth = -self._nearest[:, -1]
        if products is not None and np.isinf(kth).any():
            kth = np.maximum(kth, _reached(products, self.best.shape[1]))
        limit = np.maximum(kth.astype(np.float64) - self._margin, _LOWEST)
        return np.nextafter(limit.astype(np.float32), np.float32(-np.inf))

    def _micro(self, pairs: _Candidates) -> Ints:
        """Compute exact scores of pairs in units of 1 / MICRO, int64 [n]."""
        query, item, tile = pairs.query, pairs.item, pairs.tile.vectors
        if len(query) < _DENSE * len(self._queries) * len(tile):
            micro = MICRO * cosines(self._queries, self._norms, query, tile, item)
            return np.rint(micro).astype(np.int64)
        length = self._norms[query] * norms(tile)[item]
        micro = MICRO * (_all_dots(tile, self._queries)[item, query] / length)
        # A matrix product sums in an order of its own. That matters only next
        # to the middle between two roundings, where pairs decide.
        slack = 4 * (tile.shape[1] + 2) * 2.0**-53 * MICRO
        doubtful = np.flatnonzero(np.abs(micro - np.floor(micro) - 0.5) <= slack)
        micro[doubtful] = MICRO * cosines(
            self._queries, self._norms, query[doubtful], tile, item[doubtful]
        )
        return np.rint(micro).astype(np.int64)


class _Exclusions:
    """Gallery rows that are no candidates, sorted so that a tile finds its own."""

    def __init__(self, exclude: Ints) -> None:
        query, column = np.nonzero(exclude >= 0)
        item = exclude[query, column]
        order = np.argsort(item, kind="stable")
        self._query, self._item = query[order], item[order]

    def apply(self, products: Vectors, start: int) -> None:
        """Set products of excluded pairs to -inf; the tile begins at row `start`."""
        first, last = np.searchsorted(self._item, (start, start + len(products)))
        products[self._item[first:last] - start, self._query[first:last]] = -np.inf


def _reached(products: Vectors, k: int) -> Vectors:
    """Find a number that k products of each query reach, float32 [q]; -inf if there are too few.

    The k-th largest of the maxima of disjoint sets of items: as good as the
    k-th largest product unless two of the largest are in one set.
    """
    count, q = products.shape
    if count < k:
        return np.full(q, -np.inf, dtype=np.float32)
    size = max(1, min(16, count // (4 * k)))
    sets = count // size
    maxima: Vectors = products[: size * sets].reshape(size, sets, q).max(axis=0)
    kth: Vectors = np.partition(maxima, -k, axis=0)[-k]
    return kth


def _keep_least(best: npt.NDArray[Any], query: Ints, values: npt.NDArray[Any]) -> None:
    """Merge `values` of `query` into the k least of each query, in place.

    The last column of `best` [q, k] is the largest of its row, before and after.
    """
    k = best.shape[1]
    order = np.argsort(query.astype(np.uint16), kind="stable")  # 16 bits are sorted by radix.
    query, values = query[order], values[order]
    counts = np.bincount(query, minlength=len(best))
    column = k + np.arange(len(query)) - (np.cumsum(counts) - counts)[query]
    widest = k + int(counts.max(initial=0))
    # Filled up with the row's largest, which cannot push out anything smaller.
    pool = np.broadcast_to(best[:, -1:], (len(best), widest)).copy()
    pool[:, :k] = best
    pool[query, column] = values
    pool.partition(k - 1, axis=1)
    best[:] = pool[:, :k]


def _all_dots(left: Vectors, right: Vectors) -> Floats:
    products: Floats = np.matmul(left.astype(np.float64), right.astype(np.float64).T)
    return products
