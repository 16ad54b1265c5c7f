"""BEIR: texts that search texts, judged by hand.

    <folder>/corpus.jsonl[.gz]    {"_id", "title", "text"}
    <folder>/queries.jsonl[.gz]   {"_id", "text"}
    <folder>/qrels/<split>.tsv    query-id, corpus-id, score; a header line

As in the BEIR library: an item is its title, a blank and its text; only queries
that have judgements in the split are evaluated.
Source: Thakur et al., arXiv 2104.08663.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lookbench_core.benchmark import Judgement, SourceInfo, Subset
from lookbench_evaluator.benchmarks.files import first_file, require_folder
from lookbench_evaluator.benchmarks.json_lines import parse_object, read_lines
from lookbench_evaluator.benchmarks.paths import confine
from lookbench_evaluator.benchmarks.qrels_file import QrelsFile
from lookbench_evaluator.benchmarks.source import (
    ID_INVALID,
    ID_MISSING,
    LINE_UNREADABLE,
    CollectionSource,
    QrelsSource,
    Rejected,
    Row,
    Source,
)

JUDGEMENT = "relevance"


@dataclass
class _Queries:
    """The judged queries of a file; `left_out` counts the others of the latest reading."""

    path: Path
    judged: frozenset[str]
    left_out: int = 0

    def rows(self) -> Iterator[Row | Rejected]:
        self.left_out = 0
        for row in _rows(self.path, _text, grouped=True):
            if isinstance(row, Rejected) or row.id in self.judged:
                yield row
            else:
                self.left_out += 1


def read_beir(folder: Path, *, split: str) -> Source:
    """The data set in `folder`, judged by `qrels/<split>.tsv`.

    Raises SourceNotFound, PathOutsideRoot, BenchmarkInvalid.
    """
    require_folder(folder)
    confine(f"qrels/{split}.tsv", [folder], field="options.split")
    qrels = QrelsFile.read(first_file(folder, f"qrels/{split}.tsv"))
    corpus = first_file(folder, "corpus.jsonl", "corpus.jsonl.gz")
    queries = _Queries(
        first_file(folder, "queries.jsonl", "queries.jsonl.gz"),
        frozenset(query for _, query, _, _ in qrels.rows),
    )
    return Source(
        info=SourceInfo(format="beir", path=str(folder), options={"split": split}),
        title=f"{folder.name} ({split})",
        subsets=(Subset(name="all", queries="queries", galleries=("corpus",)),),
        judgements=(
            Judgement(name=JUDGEMENT, description="judged by the data set's authors", kind="qrels"),
        ),
        headline=JUDGEMENT,
        default_metrics=("ndcg_linear", "recall", "map_r", "mrr", "precision", "hit"),
        collections=(
            CollectionSource("queries", "query", "text", (), queries.rows),
            CollectionSource("corpus", "item", "text", (), partial(_rows, corpus, _title_and_text)),
        ),
        qrels={JUDGEMENT: QrelsSource(qrels.path.name, lambda: qrels.rows)},
        notes=lambda: _notes(queries, qrels),
    )


def _rows(
    path: Path, text_of: Callable[[Mapping[str, Any]], str], grouped: bool = False
) -> Iterator[Row | Rejected]:
    for number, line in read_lines(path):
        try:
            values = parse_object(line)
        except ValueError as error:
            yield Rejected(number, "", LINE_UNREADABLE, str(error))
            continue
        yield _row(number, values, text_of, grouped)


def _row(
    number: int,
    values: Mapping[str, Any],
    text_of: Callable[[Mapping[str, Any]], str],
    grouped: bool,
) -> Row | Rejected:
    raw_id = values.get("_id")
    if raw_id is None:
        return Rejected(number, "", ID_MISSING, "the line has no _id")
    if isinstance(raw_id, bool) or not isinstance(raw_id, str | int):
        return Rejected(number, str(raw_id), ID_INVALID, f"_id {raw_id!r} is not a string")
    row_id = str(raw_id)
    try:
        text = text_of(values)
    except TypeError as error:
        return Rejected(number, row_id, LINE_UNREADABLE, str(error))
    return Row(number, row_id, text, {}, _text_group(text) if grouped else None)


def _text(values: Mapping[str, Any]) -> str:
    return _string(values, "text")


def _title_and_text(values: Mapping[str, Any]) -> str:
    return f"{_string(values, 'title')} {_string(values, 'text')}".strip()


def _string(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{name} is a {type(value).__name__}, not a string")
    return value


def _text_group(text: str) -> str:
    """The same query string under two ids is one group."""
    text_bytes = text.strip().encode("utf-8", "surrogatepass")
    return f"text/{hashlib.sha256(text_bytes).hexdigest()[:16]}"


def _notes(queries: _Queries, qrels: QrelsFile) -> list[str]:
    notes = ["an item's text is its title, a blank and its text"]
    if queries.left_out:
        notes.append(f"{queries.left_out} queries have no judgement in {qrels.path.name}: left out")
    if qrels.negative:
        notes.append(f"{qrels.negative} judgements in {qrels.path.name} below 0: read as 0")
    return notes
