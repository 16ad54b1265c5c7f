"""A folder of images and a CSV file that says what they are.

Columns `id`, `path` (relative to the folder), `split` (`query` or `item`);
optional `subset`, `group`, `time`; every other column is a label. Queries of a
subset search the items of that subset and those without one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from lookbench_core.benchmark import Judgement, SourceInfo, Subset
from lookbench_evaluator.benchmarks.files import first_file, read_item_file, require_folder
from lookbench_evaluator.benchmarks.label_table import LabelTable, Record
from lookbench_evaluator.benchmarks.paths import confine
from lookbench_evaluator.benchmarks.source import (
    CONTENT_MISSING,
    LABEL_METRICS,
    TIME_INVALID,
    CollectionSource,
    Rejected,
    Row,
    Side,
    Source,
)
from lookbench_evaluator.errors import BenchmarkInvalid, InvalidField
from lookbench_inference.errors import ItemUnreadable

_SUBSET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_WHOLE = "all"


def read_image_folder(folder: Path, *, csv: str, judgements: str) -> Source:
    """The benchmark that `folder / csv` describes.

    `judgements`: comma-separated, each one label or several joined by `+`, all
    of which must be equal; the first is the headline; empty = one a label.

    Raises SourceNotFound, PathOutsideRoot, BenchmarkInvalid, InvalidField.
    """
    require_folder(folder)
    confine(csv, [folder], field="options.csv")
    table = LabelTable.read(first_file(folder, csv))
    rules = _judgements(judgements, table)
    subsets, collections = _arrange(folder, table)
    options = {"csv": csv, "judgements": ",".join("+".join(rule.labels) for rule in rules)}
    return Source(
        info=SourceInfo(format="image-folder", path=str(folder), options=options),
        title=folder.name,
        subsets=subsets,
        judgements=rules,
        headline=rules[0].name,
        default_metrics=LABEL_METRICS,
        collections=collections,
    )


def _judgements(option: str, table: LabelTable) -> list[Judgement]:
    names = [name.strip() for name in option.split(",") if name.strip()] or list(table.labels)
    if not names:
        raise BenchmarkInvalid(
            f"{table.path} has no label column, so nothing is relevant to a query; add one",
            path=table.path,
        )
    return [_judgement(name, table) for name in dict.fromkeys(names)]


def _judgement(name: str, table: LabelTable) -> Judgement:
    labels = tuple(part.strip() for part in name.split("+"))
    for label in labels:
        if label not in table.labels:
            known = ", ".join(table.labels)
            raise InvalidField(
                "options.judgements",
                f"{label!r} is not a label of {table.path.name}; it has: {known}",
            )
    return Judgement(
        name="+".join(labels),
        description=f"query and item have the same {' and '.join(labels)}",
        kind="equal",
        labels=labels,
    )


def _arrange(folder: Path, table: LabelTable) -> tuple[list[Subset], list[CollectionSource]]:
    """Subsets and collections in the order of first mention."""
    queries, items = _by_subset(table, "query"), _by_subset(table, "item")
    for name in items:
        if name and name not in queries:
            raise BenchmarkInvalid(
                f"{table.path}: subset {name!r} has items but no queries", path=table.path
            )
    collections = [
        CollectionSource(
            _name(subset, word), side, "image", table.labels, partial(_rows, folder, table, records)
        )
        for side, word, parts in _sides(queries, items)
        for subset, records in parts.items()
    ]
    return [_one_subset(table, name, items) for name in queries], collections


def _sides(
    queries: dict[str, list[Record]], items: dict[str, list[Record]]
) -> tuple[tuple[Side, str, dict[str, list[Record]]], ...]:
    return ("query", "queries", queries), ("item", "items", items)


def _by_subset(table: LabelTable, split: str) -> dict[str, list[Record]]:
    parts: dict[str, list[Record]] = {}
    for record in table.records:
        if record["split"] == split:
            parts.setdefault(_subset(table, record), []).append(record)
    return parts


def _subset(table: LabelTable, record: Record) -> str:
    name = record["subset"]
    if name and _SUBSET_NAME.fullmatch(name) is None:
        raise BenchmarkInvalid(
            f"{table.path} line {record.line}: subset {name!r} is not letters, digits, _, ., -",
            path=table.path,
            line=record.line,
        )
    return name


def _one_subset(table: LabelTable, name: str, items: Mapping[str, object]) -> Subset:
    galleries = [part for part in dict.fromkeys((name, "")) if part in items]
    if not galleries:
        raise BenchmarkInvalid(
            f"{table.path}: the queries of subset {name or _WHOLE!r} have no items to search",
            path=table.path,
        )
    return Subset(
        name=name or _WHOLE,
        queries=_name(name, "queries"),
        galleries=tuple(_name(part, "items") for part in galleries),
    )


def _name(subset: str, word: str) -> str:
    return f"{subset}-{word}" if subset else word


def _rows(folder: Path, table: LabelTable, records: Iterable[Record]) -> Iterator[Row | Rejected]:
    for record in records:
        yield _row(folder, table.labels, record)


def _row(folder: Path, labels: Iterable[str], record: Record) -> Row | Rejected:
    try:
        return Row(
            row=record.line,
            id=record["id"],
            content=_content(folder, record["path"]),
            labels={label: record[label] or None for label in labels},
            group=record["group"] or None,
            time=_time(record["time"]),
        )
    except ItemUnreadable as error:
        return Rejected(record.line, record["id"], error.row_reason, error.message)


def _content(folder: Path, path: str) -> bytes:
    if not path:
        raise ItemUnreadable(CONTENT_MISSING, "the row names no path")
    return read_item_file(path, folder, folder)


def _time(text: str) -> datetime | None:
    """An ISO 8601 time; UTC where the text names no zone."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ItemUnreadable(TIME_INVALID, f"time {text!r} is not ISO 8601") from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
