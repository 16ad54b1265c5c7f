"""The CSV file of an image folder: ids, paths, splits and labels."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from lookbench_evaluator.errors import BenchmarkInvalid

REQUIRED = ("id", "path", "split")
OPTIONAL = ("subset", "group", "time")
SPLITS = ("query", "item")


@dataclass(frozen=True, slots=True)
class Record:
    """One data row. Values are strings as written; `line` counts from 1, the header included."""

    line: int
    values: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.values.get(column, "")


@dataclass(frozen=True)
class LabelTable:
    """A table in memory: it holds ids and labels, never pictures."""

    path: Path
    labels: tuple[str, ...]
    records: tuple[Record, ...]

    @classmethod
    def read(cls, path: Path) -> "LabelTable":
        """Reads UTF-8 (a byte order mark is skipped), comma-separated, with a header.

        Raises BenchmarkInvalid naming file and line for a file of another
        encoding, missing or repeated columns, rows of another length, and
        splits other than `query` and `item`.
        """
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                records = _records(file)
        except UnicodeDecodeError as error:
            raise _invalid(path, f"is not UTF-8: {error.reason} at byte {error.start}") from None
        except csv.Error as error:
            raise _invalid(path, f"is not CSV: {error}") from None
        except OSError as error:
            raise _invalid(path, f"cannot be read: {error.strerror}") from None
        if not records:
            raise _invalid(path, "is empty; its first line names the columns")
        columns = _columns(path, records[0][1])
        labels = tuple(name for name in columns if name not in REQUIRED + OPTIONAL)
        return cls(path, labels, tuple(_record(path, columns, *entry) for entry in records[1:]))


def _records(file: TextIO) -> list[tuple[int, list[str]]]:
    """The line on which each row starts, and its fields. Empty lines are no rows."""
    reader = csv.reader(file, strict=True)
    records, line = [], 1
    for fields in reader:
        if fields:
            records.append((line, fields))
        line = reader.line_num + 1
    return records


def _columns(path: Path, header: list[str]) -> list[str]:
    columns = [name.strip() for name in header]
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        raise _invalid(path, f"lacks the column {missing[0]!r}; it has: {', '.join(columns)}")
    repeated = [name for name in columns if columns.count(name) > 1 or not name]
    if repeated:
        raise _invalid(path, f"has a column {repeated[0]!r} that is repeated or unnamed")
    return columns


def _record(path: Path, columns: list[str], line: int, fields: list[str]) -> Record:
    if len(fields) != len(columns):
        raise _invalid(
            path, f"line {line} has {len(fields)} fields, the header {len(columns)}; quote commas"
        )
    record = Record(line, dict(zip(columns, fields, strict=True)))
    if record["split"] not in SPLITS:
        raise _invalid(path, f"line {line}: split {record['split']!r} is neither query nor item")
    return record


def _invalid(path: Path, problem: str) -> BenchmarkInvalid:
    return BenchmarkInvalid(f"{path} {problem}", path=path, problem=problem)
