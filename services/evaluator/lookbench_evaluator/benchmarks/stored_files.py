"""The parquet files of a stored benchmark: names, columns, writing."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from lookbench_core.benchmark import LABEL_PREFIX, Modality
from lookbench_evaluator.benchmarks.source import Rejected, Row
from lookbench_evaluator.errors import StoreUnavailable

REJECTED_NAME = "rejected.parquet"
GROUP_BYTES = 32 << 20
GROUP_ROWS = 8192

REJECTED_SCHEMA = pa.schema(
    [
        ("collection", pa.string()),
        ("row", pa.int64()),
        ("id", pa.string()),
        ("reason", pa.string()),
        ("message", pa.string()),
    ]
)
QRELS_SCHEMA = pa.schema(
    [("query_id", pa.string()), ("item_id", pa.string()), ("grade", pa.float64())]
)
_REPEATING = frozenset({"group", "collection", "reason", "query_id"})
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_TIME = pa.timestamp("us", tz="UTC")


def collection_path(folder: Path, name: str) -> Path:
    """Where a collection lies."""
    return folder / "collections" / f"{name}.parquet"


def qrels_path(folder: Path, judgement: str) -> Path:
    """Where the explicit grades of a judgement lie."""
    return folder / "qrels" / f"{judgement}.parquet"


def collection_schema(modality: Modality, labels: Sequence[str]) -> pa.Schema:
    """Columns of a collection; see lookbench_core.benchmark."""
    content = ("image", _IMAGE) if modality == "image" else ("text", pa.string())
    fixed = [("content_digest", pa.string()), ("group", pa.string()), ("time", _TIME)]
    named = [(LABEL_PREFIX + label, pa.string()) for label in labels]
    return pa.schema([("id", pa.string()), content, *fixed, *named])


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turns a failed write into StoreUnavailable that names the place and the next step."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise StoreUnavailable(
            f"cannot write {path}: {why}; free space there or correct its permissions, then "
            "import again",
            path=path,
            why=why,
        ) from error


class CollectionWriter:
    """Writes a collection in row groups of about 32 MiB of content, at most 8,192 rows.

    Every page carries a checksum, so that damage is noticed when it is read.
    """

    def __init__(self, path: Path, modality: Modality, labels: Sequence[str]) -> None:
        self._path, self._modality, self._labels = path, modality, labels
        self._schema = collection_schema(modality, labels)
        self._rows: list[dict[str, Any]] = []
        self._bytes = 0

    def __enter__(self) -> Self:
        with store_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = _writer(self._path, self._schema)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._flush()
        with store_errors(self._path):
            self._writer.close()

    def add(self, row: Row, content_digest: str) -> None:
        """Appends a row. Raises StoreUnavailable."""
        self._rows.append(self._values(row, content_digest))
        self._bytes += len(row.content)
        if self._bytes >= GROUP_BYTES or len(self._rows) >= GROUP_ROWS:
            self._flush()

    def _values(self, row: Row, content_digest: str) -> dict[str, Any]:
        image = self._modality == "image"
        content = (
            {"image": {"bytes": row.content, "path": None}} if image else {"text": row.content}
        )
        labels = {LABEL_PREFIX + label: row.labels.get(label) for label in self._labels}
        return {
            "id": row.id,
            "content_digest": content_digest,
            "group": row.group,
            "time": row.time,
            **content,
            **labels,
        }

    def _flush(self) -> None:
        if self._rows:
            table = pa.Table.from_pylist(self._rows, schema=self._schema)
            with store_errors(self._path):
                self._writer.write_table(table, row_group_size=len(self._rows))
        self._rows, self._bytes = [], 0


def write_rejected(folder: Path, rejected: Iterable[tuple[str, Rejected]]) -> None:
    """Writes rejected.parquet from (collection, row)."""
    rows = [
        {
            "collection": collection,
            "row": row.row,
            "id": row.id,
            "reason": row.reason,
            "message": row.message,
        }
        for collection, row in rejected
    ]
    _write(folder / REJECTED_NAME, pa.Table.from_pylist(rows, schema=REJECTED_SCHEMA))


def write_qrels(path: Path, rows: Iterable[tuple[str, str, float]]) -> None:
    """Writes explicit judgements of (query id, item id, grade)."""
    names = QRELS_SCHEMA.names
    values = [dict(zip(names, row, strict=True)) for row in rows]
    _write(path, pa.Table.from_pylist(values, schema=QRELS_SCHEMA))


def _write(path: Path, table: pa.Table) -> None:
    with store_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _writer(path, table.schema) as writer:
            writer.write_table(table)


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    # Only what repeats gains from a dictionary; contents and ids do not.
    repeating = [n for n in schema.names if n.startswith(LABEL_PREFIX) or n in _REPEATING]
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=repeating,
        write_batch_size=8,  # pages are cut between batches only: about 1 MiB with images too
        write_statistics=False,
        write_page_checksum=True,
    )
