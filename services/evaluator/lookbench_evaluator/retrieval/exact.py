"""Exact nearest neighbours by cosine, in one pass over a gallery in blocks.

The order is that of `ranking`: cosine in float64 rounded to 1e-6, descending;
among equals the tie rank, ascending. Computing all cosines that way would be
slow, so float32 finds the candidates and float64 decides.

Why no item is lost. Let u = 2^-24 and q, x two vectors of dimension D, and c
their cosine. What is multiplied in float32 are q' and x': a unit vector rounded
to float32, or a given vector whose norm is within 2^-20 of 1. So |q'.x' - c| <=
2^-19 + 2^-38. A dot product in float32, in any order, with or without fused
multiply-add, is off by at most g |q'| |x'| with g = D u / (1 - D u) (Higham,
Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1). Hence the
product s satisfies |s - c| <= e with e = 1.01 g + 2^-18, where the slack covers
the second-order terms, denormals and the float64 rounding below.

- A query that has k items already, the worst with score m / 10^6, can only be
  changed by an item with a rounded score of at least that, so one with
  c >= (m - 0.5) / 10^6, so one with s >= (m - 0.5) / 10^6 - e.
- A query that has not: let t be the k-th largest s within a tile. Those k items
  have c >= t - e. An item with s < t - 2 e - 10^-6 has c < t - e - 10^-6, whose
  rounded score is smaller than theirs: it is not among the k best.

Everything else is scored in float64. There the products of float32 components
are exact and the order of the sum depends on D alone, so a pair's score depends
on the pair alone: not on blocks, threads or the order of the gallery.

Memory: the k best keys of each query, plus some 30 MB a tile; 200 MB where all
items are equally good, which a matrix product in float64 keeps quick as well.
Time is linear in the gallery.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

PARTS = 2

import numpy as np
import numpy.typing as npt

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
    directions,
    dots,
    norms,
    unusable_rows,
)

__all__ = ["Ranking", "merge", "rank"]

TILE_ITEMS = 4096
TILE_QUERIES = 512
"""A tile's products (8 MB) are compared while they are in the cache."""
# From this share of a tile on, a matrix product in float64 is quicker than pairs.
_DENSE = 1 / 64
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
    if k < 1:
        raise InvalidVectors(f"depth {k} is below 1", k=k)
    if len(tie_rank) == 0:
        raise EmptyGallery
    search = _Search(queries, TotalOrder.of(tie_rank), k, exclude)
    covered = np.zeros(len(tie_rank), dtype=np.bool_)
    for start, tile in _tiles(blocks, queries.shape[1]):
        _cover(covered, start, len(tile))
        search.add(start, tile)
    return search.ranking(int(covered.sum()))


def _tiles(blocks: Iterable[Block], dimension: int) -> Iterator[Block]:
    for start, block in blocks:
        check_vectors("gallery vectors", block, dimension)
        for rows in chunks(len(block), TILE_ITEMS):
            yield start + rows.start, np.ascontiguousarray(block[rows])


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
    return 1.01 * unit / (1 - unit) + 2.0**-18


class _Search:
    """The best keys so far of every query."""

    def __init__(self, queries: Vectors, order: TotalOrder, k: int, exclude: Ints | None) -> None:
        check_vectors("query vectors", queries)
        self._queries = np.ascontiguousarray(queries)
        self._norms = norms(self._queries)
        check_usable("query", self._norms)
        self._directions = directions(self._queries, self._norms)
        self._order = order
        self._error = float32_error(queries.shape[1])
        self._best = np.full((len(queries), k), NO_KEY, dtype=np.int64)
        self._excluded = _Exclusions(exclude, len(queries), len(order.tie_rank))
        self._unusable: list[Ints] = []
        self._pool = ThreadPoolExecutor(2)
        self._products = np.empty(TILE_QUERIES * TILE_ITEMS, dtype=np.float32)

    def add(self, start: int, tile: Vectors) -> None:
        """Rank a tile's items among the best; the tile begins at gallery row `start`."""
        tile_norms = np.concatenate(list(self._pool.map(norms, np.array_split(tile, 2))))
        bad = unusable_rows(tile_norms)
        if len(bad):
            self._unusable.append(bad + start)
        if self._unusable:  # Nothing will be ranked; the rest is read to name every row.
            return
        unit_tile = directions(tile, tile_norms)
        for rows in chunks(len(self._queries), TILE_QUERIES):
            products = self._multiply(rows, unit_tile)
            list(
                self._pool.map(
                    lambda part: self._update(
                        slice(rows.start + part.start, rows.start + part.stop),
                        products[part],
                        start,
                        tile,
                        tile_norms,
                    ),
                    chunks(len(products), -(-len(products) // PARTS)),
                )
            )

    def _update(self, rows, products, start, tile, tile_norms):
        self._excluded.apply(products, rows, start)
        mask = products >= self._thresholds(rows, products)[:, None]
        query, item = np.divmod(np.flatnonzero(mask), len(tile))
        micro = self._micro(rows, query, tile, tile_norms, item)
        self._keep(rows, query, self._order.keys(micro, item + start))

    def ranking(self, item_count: int) -> Ranking:
        """Return the result, once every tile was added."""
        if self._unusable:
            raise NonFiniteVectors("gallery", np.sort(np.concatenate(self._unusable)))
        if not item_count:
            raise EmptyGallery
        return self._order.ranking(self._best, item_count)

    def _multiply(self, rows: slice, unit_tile: Vectors) -> Vectors:
        left = self._directions[rows]
        shape = (len(left), len(unit_tile))
        # One buffer for all tiles: fresh pages cost as much as comparing them.
        products = self._products[: shape[0] * shape[1]].reshape(shape)
        return np.matmul(left, unit_tile.T, out=products)

    def _thresholds(self, rows: slice, products: Vectors) -> Vectors:
        """Find the lowest product that may belong to one of the k best, float32 [q]."""
        worst = self._best[rows, -1]
        full = worst != NO_KEY
        floor = (self._order.micro(worst) - 0.5) / MICRO - self._error
        k = self._best.shape[1]
        if not full.all() and products.shape[1] >= k:
            kth = np.partition(products, -k, axis=1)[:, -k]
            start = kth.astype(np.float64) - 2 * self._error - 1 / MICRO
        else:
            start = np.full(len(worst), _LOWEST)
        limit = np.maximum(np.where(full, floor, start), _LOWEST)
        return np.nextafter(limit.astype(np.float32), np.float32(-np.inf))

    def _micro(
        self, rows: slice, query: Ints, tile: Vectors, tile_norms: Floats, item: Ints
    ) -> Ints:
        """Compute exact scores of candidate pairs in units of 1 / MICRO, int64 [n]."""
        queries, query_norms = self._queries[rows], self._norms[rows]
        length = query_norms[query] * tile_norms[item]
        if len(query) < _DENSE * len(queries) * len(tile):
            scaled = dots(queries, query, tile, item) / length * MICRO
            return np.rint(scaled).astype(np.int64)
        scaled = _all_dots(queries, tile)[query, item] / length * MICRO
        # A matrix product sums in an order of its own. That matters only next
        # to the middle between two roundings, where pairs decide.
        slack = 4 * (tile.shape[1] + 2) * 2.0**-53 * MICRO
        doubtful = np.flatnonzero(np.abs(scaled - np.floor(scaled) - 0.5) <= slack)
        exact = dots(queries, query[doubtful], tile, item[doubtful])
        scaled[doubtful] = exact / length[doubtful] * MICRO
        return np.rint(scaled).astype(np.int64)

    def _keep(self, rows: slice, query: Ints, keys: Ints) -> None:
        """Merge keys, ascending by query, into the best of the queries in `rows`."""
        best = self._best[rows]
        k = best.shape[1]
        counts = np.bincount(query, minlength=len(best))
        column = np.arange(len(query)) - (np.cumsum(counts) - counts)[query]
        pool = np.full((len(best), k + int(counts.max(initial=0))), NO_KEY, dtype=np.int64)
        pool[:, :k] = best
        pool[query, k + column] = keys
        pool.partition(k - 1, axis=1)
        best[:] = pool[:, :k]


class _Exclusions:
    """Gallery rows that are no candidates, sorted so that a tile finds its own."""

    def __init__(self, exclude: Ints | None, query_count: int, item_count: int) -> None:
        if exclude is None:
            exclude = np.empty((query_count, 0), dtype=np.int64)
        check_shape("excluded rows", exclude, (query_count, None))
        if exclude.max(initial=-1) >= item_count:
            raise InvalidVectors(
                f"excluded row {exclude.max()} is outside a gallery of {item_count}"
            )
        query, column = np.nonzero(exclude >= 0)
        item = exclude[query, column]
        order = np.argsort(item, kind="stable")
        self._query, self._item = query[order], item[order]

    def apply(self, products: Vectors, rows: slice, start: int) -> None:
        """Set products of excluded pairs to -inf; the tile begins at row `start`."""
        first, last = np.searchsorted(self._item, (start, start + products.shape[1]))
        query = self._query[first:last]
        inside = (query >= rows.start) & (query < rows.stop)
        item = self._item[first:last][inside] - start
        products[query[inside] - rows.start, item] = -np.inf


def _all_dots(queries: Vectors, tile: Vectors) -> Floats:
    products: Floats = np.matmul(queries.astype(np.float64), tile.astype(np.float64).T)
    return products
