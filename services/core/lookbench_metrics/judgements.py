"""Explicit judgements (qrels), one grade a query and item."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from lookbench_metrics.errors import ConflictingGrades, InvalidGrades


@dataclass(frozen=True)
class Judgements:
    """`grades`: query -> item -> grade, in the order of first mention.

    `repeats` counts rows that said again what an earlier row had said; they
    are not part of `grades`, so that no denominator counts an item twice.
    """

    grades: dict[str, dict[str, float]]
    repeats: int

    def __len__(self) -> int:
        return sum(len(items) for items in self.grades.values())


def collect(rows: Iterable[tuple[int, str, str, float]]) -> Judgements:
    """Collect rows of (line number, query id, item id, grade).

    Exact repeats are kept once and counted.

    Raises:
        ConflictingGrades: the same query and item with two grades; names both lines.
        InvalidGrades: a grade is negative or not finite; names the line.
    """
    grades: dict[str, dict[str, float]] = {}
    lines: dict[tuple[str, str], int] = {}
    repeats = 0
    for line, query, item, grade in rows:
        _check_grade(line, query, item, grade)
        items = grades.setdefault(query, {})
        if item not in items:
            items[item] = float(grade)
            lines[query, item] = line
        elif items[item] == grade:
            repeats += 1
        else:
            raise _conflict(query, item, (lines[query, item], items[item]), (line, grade))
    return Judgements(grades, repeats)


def _check_grade(line: int, query: str, item: str, grade: float) -> None:
    if not (math.isfinite(grade) and grade >= 0):
        raise InvalidGrades(
            f"line {line}: grade {grade} of query {query!r} and item {item!r} is not a finite"
            " number from 0; correct the judgement or remove it",
            line=line,
            query=query,
            item=item,
            grade=grade,
        )


def _conflict(
    query: str, item: str, first: tuple[int, float], second: tuple[int, float]
) -> ConflictingGrades:
    return ConflictingGrades(
        f"query {query!r} and item {item!r} have grade {first[1]:g} on line {first[0]} and"
        f" {second[1]:g} on line {second[0]}; keep one of the two",
        query=query,
        item=item,
        first_line=first[0],
        second_line=second[0],
    )
