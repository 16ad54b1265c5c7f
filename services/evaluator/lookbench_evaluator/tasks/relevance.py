"""What is relevant to what: from rankings to the input of the metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from lookbench_evaluator.retrieval.errors import InvalidVectors, check_shape
from lookbench_evaluator.retrieval.ranking import Ranking
from lookbench_evaluator.retrieval.vectors import Floats, Ints
from lookbench_metrics.errors import InvalidGrades
from lookbench_metrics.judged import Bools, Judged

NO_LABEL = -1
"""Code of a row that lacks a label; it matches nothing, not even itself."""

Labels = Sequence[str | None]


def label_codes(queries: Sequence[Labels], items: Sequence[Labels]) -> tuple[Ints, Ints]:
    """Assign codes such that rows are equal in every label exactly if their codes are.

    Args:
        queries: one column a label, each of Q values; None = the row lacks it.
        items: the same labels of the gallery, each of N values.

    Returns:
        int64 [Q] and int64 [N]; NO_LABEL for rows that lack any of the labels.

    Raises:
        InvalidGrades: no labels, different numbers of labels, or columns of
            different length.
    """
    if not queries or len(queries) != len(items):
        raise InvalidGrades(f"{len(queries)} query labels for {len(items)} item labels")
    codes: dict[tuple[str | None, ...], int] = {}
    return _encode(queries, codes), _encode(items, codes)


def _encode(columns: Sequence[Labels], codes: dict[tuple[str | None, ...], int]) -> Ints:
    if len({len(column) for column in columns}) > 1:
        raise InvalidGrades(f"label columns have lengths {[len(column) for column in columns]}")
    rows = zip(*columns, strict=True)
    return np.array(
        [NO_LABEL if None in row else codes.setdefault(row, len(codes)) for row in rows],
        dtype=np.int64,
    )


def judge_equal(
    ranking: Ranking,
    query_codes: Ints,
    item_codes: Ints,
    exclude: Ints | None = None,
    *,
    candidate_of: Ints | None = None,
) -> Judged:
    """Judge an item relevant (grade 1) if its code is the query's.

    Args:
        ranking: of Q queries over a gallery of N items.
        query_codes: int64 [Q] from `label_codes`; NO_LABEL matches nothing.
        item_codes: int64 [N], or [A] where gallery rows stand for A >= N items.
        exclude: int64 [Q, E], what `exact.rank` was given: gallery rows that
            are no candidates, so not among the relevant ones either.
        candidate_of: int64 [A], the gallery row that stands for each item; a row
            is relevant if one of its items is. By default every row for itself.
    """
    check_shape("query codes", query_codes, (len(ranking.items),))
    check_shape("item codes", item_codes, (None,))
    table = _Codes.of(item_codes, candidate_of)
    matches = table.matches(ranking.items, query_codes)
    labelled = query_codes != NO_LABEL
    counts = np.bincount(table.code, minlength=int(query_codes.max(initial=0)) + 1)
    n_relevant = np.where(labelled, counts[np.maximum(query_codes, 0)], 0)
    if exclude is not None:
        left_out = table.matches(_distinct(exclude), query_codes)
        n_relevant -= left_out.sum(axis=1)
    return Judged.binary(matches, n_relevant)


def judge_qrels(
    ranking: Ranking,
    grades: Sequence[Mapping[int, float]],
    threshold: float = 1.0,
    exclude: Ints | None = None,
) -> Judged:
    """Take grades from explicit judgements; what is not listed has grade 0.

    Args:
        ranking: of Q queries.
        grades: for each of the Q queries, gallery row -> grade. Repeated and
            conflicting judgements were settled by `judgements.collect`.
        threshold: lowest grade that counts as relevant.
        exclude: as for `judge_equal`.

    Raises:
        InvalidGrades: a grade is negative or not finite; names the rows.
        InvalidVectors: not one mapping a query, or a negative gallery row.
    """
    if len(grades) != len(ranking.items):
        raise InvalidVectors(f"judgements of {len(grades)} queries for {len(ranking.items)}")
    table = _Table.of(grades)
    if exclude is not None:
        table = table.without(_distinct(exclude))
    return Judged(
        grades=table.look_up(ranking.items),
        ideal=table.ideal(len(grades), ranking.depth),
        n_relevant=np.bincount(table.query[table.grade >= threshold], minlength=len(grades)),
        threshold=threshold,
    )


@dataclass(frozen=True, eq=False)
class _Codes:
    """The distinct pairs of gallery row and code, ascending; rows without a label have none."""

    row: Ints
    code: Ints
    span: int

    @classmethod
    def of(cls, item_codes: Ints, candidate_of: Ints | None) -> Self:
        span = int(item_codes.max(initial=0)) + 1
        rows = np.flatnonzero(item_codes != NO_LABEL)
        codes = item_codes[rows]
        if candidate_of is None:  # distinct and in order already
            return cls(rows, codes, span)
        pairs = np.unique(candidate_of[rows] * span + codes)
        return cls(pairs // span, pairs % span, span)

    def matches(self, rows: Ints, query_codes: Ints) -> Bools:
        """Where a gallery row [Q, any] has its query's code, bool [Q, any]; never for -1."""
        known = self.row * self.span + self.code
        possible = (query_codes != NO_LABEL) & (query_codes < self.span)
        wanted = rows * self.span + query_codes[:, None]
        if not len(known):
            return np.zeros(rows.shape, dtype=np.bool_)
        place = np.searchsorted(known, wanted).clip(max=len(known) - 1)
        found: Bools = (rows >= 0) & possible[:, None] & (known[place] == wanted)
        return found


@dataclass(frozen=True, eq=False)
class _Table:
    """Judgements as columns, ascending by query, then item."""

    query: Ints
    item: Ints
    grade: Floats

    @classmethod
    def of(cls, grades: Sequence[Mapping[int, float]]) -> Self:
        total = sum(map(len, grades))
        query = np.repeat(np.arange(len(grades)), [len(items) for items in grades])
        item = np.fromiter((i for items in grades for i in items), np.int64, total)
        grade = np.fromiter((g for items in grades for g in items.values()), np.float64, total)
        _check_judgements(query, item, grade)
        order = np.lexsort((item, query))
        return cls(query[order], item[order], grade[order])

    def without(self, exclude: Ints) -> Self:
        left_out = self._positions(exclude)
        kept = np.ones(len(self.item), dtype=np.bool_)
        kept[left_out[left_out >= 0]] = False
        return type(self)(self.query[kept], self.item[kept], self.grade[kept])

    def look_up(self, rows: Ints) -> Floats:
        """Look up grades of `rows` [Q, K], 0 for rows without a judgement and for -1."""
        position = self._positions(rows)
        judged = position >= 0
        result = np.zeros(rows.shape)
        result[judged] = self.grade[position[judged]]
        return result

    def ideal(self, query_count: int, depth: int) -> Floats:
        """Return the `depth` largest grades of each query, descending, padded with 0."""
        order = np.lexsort((-self.grade, self.query))
        query, grade = self.query[order], self.grade[order]
        counts = np.bincount(query, minlength=query_count)
        place = np.arange(len(query)) - (np.cumsum(counts) - counts)[query]
        kept = place < depth
        result = np.zeros((query_count, min(depth, int(counts.max(initial=0)))))
        result[query[kept], place[kept]] = grade[kept]
        return result

    def _positions(self, rows: Ints) -> Ints:
        """Find where each of `rows` [Q, any] of its query stands in the table; -1 if nowhere."""
        if not len(self.item):
            return np.full(rows.shape, -1)
        span = 1 + max(int(self.item.max()), int(rows.max(initial=0)))
        known = self.query * span + self.item
        wanted = np.arange(len(rows))[:, None] * span + rows
        place = np.searchsorted(known, wanted).clip(max=len(known) - 1)
        return np.where((rows >= 0) & (known[place] == wanted), place, -1)


def _check_judgements(query: Ints, item: Ints, grade: Floats) -> None:
    wrong = np.flatnonzero(~(np.isfinite(grade) & (grade >= 0)))
    if len(wrong):
        at = wrong[0]
        raise InvalidGrades(
            f"query row {query[at]}, gallery row {item[at]}: grade {grade[at]} is not a finite "
            "number from 0",
            query=query[at],
            item=item[at],
        )
    if (item < 0).any():
        at = int(np.argmax(item < 0))
        raise InvalidVectors(f"query row {query[at]} judges gallery row {item[at]}")


def _distinct(rows: Ints) -> Ints:
    """Return `rows` [Q, E] with repeats within a query replaced by -1."""
    ordered = np.sort(rows, axis=1)
    repeated = ordered[:, 1:] == ordered[:, :-1]
    ordered[:, 1:][repeated] = -1
    return ordered
