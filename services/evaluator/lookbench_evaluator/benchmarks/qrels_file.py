"""Judgement files: query id, item id and grade, separated by tabs."""

import math
from dataclasses import dataclass
from pathlib import Path

from lookbench_evaluator.benchmarks.json_lines import read_lines
from lookbench_evaluator.errors import BenchmarkInvalid


@dataclass(frozen=True)
class QrelsFile:
    """Rows of (line, query id, item id, grade >= 0), repeats included.

    negative: how many grades below 0 were read as 0: files use them for "not
    relevant" and "not judged", and no metric has a gain below 0.
    """

    path: Path
    rows: tuple[tuple[int, str, str, float], ...]
    negative: int

    @classmethod
    def read(cls, path: Path) -> "QrelsFile":
        """Reads the file. Its first line may be a header: one without a number at its end.

        Raises BenchmarkInvalid naming file and line: a judgement that cannot be
        read would change the metrics without a word.
        """
        rows = [
            _row(path, number, line)
            for number, line in read_lines(path)
            if not (number == 1 and _grade(line.rpartition(b"\t")[2]) is None)
        ]
        clamped = tuple((line, query, item, max(grade, 0.0)) for line, query, item, grade in rows)
        return cls(path, clamped, sum(row[3] < 0 for row in rows))


def _row(path: Path, number: int, line: bytes) -> tuple[int, str, str, float]:
    fields = line.split(b"\t")
    if len(fields) != 3:
        raise _invalid(path, number, f"has {len(fields)} fields, expected query, item and grade")
    grade = _grade(fields[2])
    if grade is None:
        raise _invalid(path, number, f"has the grade {fields[2]!r}, not a finite number")
    try:
        query, item = (text.decode("utf-8").strip() for text in fields[:2])
    except UnicodeDecodeError:
        raise _invalid(path, number, "is not UTF-8") from None
    if not query or not item:
        raise _invalid(path, number, "lacks an id")
    return number, query, item, grade


def _grade(text: bytes) -> float | None:
    try:
        grade = float(text)
    except ValueError:
        return None
    return grade if math.isfinite(grade) else None


def _invalid(path: Path, number: int, problem: str) -> BenchmarkInvalid:
    return BenchmarkInvalid(f"{path} line {number} {problem}", path=path, line=number)
