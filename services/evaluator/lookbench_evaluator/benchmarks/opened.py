"""A stored benchmark, opened for reading: ids and labels at once, contents as they are needed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from pydantic import ValidationError

from lookbench_core.benchmark import (
    LABEL_PREFIX,
    MANIFEST_NAME,
    BenchmarkManifest,
    CollectionCounts,
)
from lookbench_core.digests import content_digest
from lookbench_evaluator.benchmarks.audit import DuplicateGroup, SubsetAudit, audit_subset
from lookbench_evaluator.benchmarks.collection import Collection
from lookbench_evaluator.benchmarks.content_digests import ContentDigests, packed
from lookbench_evaluator.benchmarks.contents import ContentReader
from lookbench_evaluator.benchmarks.fingerprint import (
    benchmark_digest,
    judgement_digest,
    row_digest,
    set_digest,
)
from lookbench_evaluator.benchmarks.parquet_table import open_streaming, parquet_errors
from lookbench_evaluator.benchmarks.stored_files import (
    REJECTED_NAME,
    collection_path,
    qrels_path,
)
from lookbench_evaluator.errors import BenchmarkInvalid


@dataclass(frozen=True)
class RejectedRow:
    """A row that was not imported, and why."""

    collection: str
    row: int
    id: str
    reason: str
    message: str


@dataclass(frozen=True)
class StoredBenchmark:
    """A benchmark folder whose manifest and files belong together."""

    folder: Path
    manifest: BenchmarkManifest

    @classmethod
    def open(cls, folder: Path) -> "StoredBenchmark":
        """Reads the manifest and the footers of all files.

        Raises BenchmarkInvalid naming the file that is missing, damaged or of
        another number of rows than the manifest says.
        """
        benchmark = cls(folder, _read_manifest(folder / MANIFEST_NAME))
        for part in benchmark.manifest.collections:
            _check_rows(collection_path(folder, part.name), part.rows_out)
        for rule in benchmark.manifest.judgements:
            if rule.kind == "qrels":
                _check_rows(qrels_path(folder, rule.name), None)
        rejected = sum(part.rows_rejected for part in benchmark.manifest.collections)
        _check_rows(folder / REJECTED_NAME, rejected)
        return benchmark

    def collection(self, name: str) -> Collection:
        """Everything of a collection but its contents. Raises BenchmarkInvalid."""
        modality = self._counts(name).modality
        path = collection_path(self.folder, name)
        with parquet_errors(path), open_streaming(path) as file:
            columns = [c for c in file.schema_arrow.names if c not in ("image", "text")]
            digests, table = _columns(file, columns)
        labels = {
            column.removeprefix(LABEL_PREFIX): np.array(values, dtype=object)
            for column, values in table.items()
            if column.startswith(LABEL_PREFIX)
        }
        return Collection(
            name=name,
            modality=modality,
            ids=table["id"],
            labels=labels,
            groups=table["group"],
            times=table["time"],
            content_digests=digests,
        )

    def reader(self, name: str) -> ContentReader:
        """Contents in the order of `collection(name).ids`. Raises BenchmarkInvalid."""
        return ContentReader(collection_path(self.folder, name), self._counts(name).modality)

    def contents(self, name: str, batch_rows: int = 256) -> Iterator[tuple[int, list[bytes | str]]]:
        """(row of the first, contents) in the order of `collection(name).ids`, lazily.

        Encoded images, or texts. Raises BenchmarkInvalid naming the file when a
        page does not have the checksum with which it was written.
        """
        image = self._counts(name).modality == "image"
        path, start = collection_path(self.folder, name), 0
        with parquet_errors(path), open_streaming(path) as file:
            for batch in file.iter_batches(
                batch_rows, columns=["image.bytes" if image else "text"]
            ):
                values: list[Any] = batch.column(0).to_pylist()
                yield start, [value["bytes"] for value in values] if image else values
                start += len(values)

    def qrels(self, judgement: str) -> dict[str, dict[str, float]]:
        """Query id → item id → grade; what is not listed has grade 0."""
        grades: dict[str, dict[str, float]] = {}
        for row in self._rows(qrels_path(self.folder, judgement)):
            grades.setdefault(row["query_id"], {})[row["item_id"]] = row["grade"]
        return grades

    def rejected(self) -> list[RejectedRow]:
        """Rows that were not imported, in the order in which they were read."""
        return [RejectedRow(**row) for row in self._rows(self.folder / REJECTED_NAME)]

    def audit(self) -> list[SubsetAudit]:
        """Repeated contents, a subset at a time."""
        manifest = self.manifest
        parts = {part.name: self.collection(part.name) for part in manifest.collections}
        return [audit_subset(subset, parts, manifest.judgements) for subset in manifest.subsets]

    def duplicates(self) -> list[DuplicateGroup]:
        """Groups of items with equal content within a gallery; the same group once."""
        groups = {group.ids: group for audit in self.audit() for group in audit.duplicates}
        return [groups[ids] for ids in sorted(groups)]

    def verify(self) -> None:
        """Reads everything and compares it with the digest of the manifest.

        Raises BenchmarkInvalid naming the file, or the benchmark when no single
        file is to blame.
        """
        manifest = self.manifest
        collections = {part.name: self._digest(part.name) for part in manifest.collections}
        qrels = {
            rule.name: set_digest(
                judgement_digest(query, item, grade)
                for query, items in self.qrels(rule.name).items()
                for item, grade in items.items()
            )
            for rule in manifest.judgements
            if rule.kind == "qrels"
        }
        digest = benchmark_digest(collections, qrels, manifest.subsets, manifest.judgements)
        if digest != manifest.digest:
            raise _damaged(self.folder, f"has digest {digest}, its manifest says {manifest.digest}")

    def _digest(self, name: str) -> str:
        part = self.collection(name)
        for start, contents in self.contents(name):
            for row, content in enumerate(contents, start):
                data = content if isinstance(content, bytes) else content.encode()
                if content_digest(data) != part.content_digests[row]:
                    path = collection_path(self.folder, name)
                    raise _damaged(path, f"holds other content under id {part.ids[row]!r}")
        return set_digest(
            row_digest(
                part.ids[row],
                part.content_digests[row],
                {label: values[row] for label, values in part.labels.items()},
                part.groups[row],
                part.times[row],
            )
            for row in range(len(part.ids))
        )

    def _counts(self, name: str) -> CollectionCounts:
        for part in self.manifest.collections:
            if part.name == name:
                return part
        raise KeyError(name)

    @staticmethod
    def _rows(path: Path) -> list[dict[str, Any]]:
        with parquet_errors(path), open_streaming(path) as file:
            rows: list[dict[str, Any]] = file.read().to_pylist()
        return rows


def _columns(
    file: pq.ParquetFile, names: Sequence[str]
) -> tuple[ContentDigests, dict[str, list[Any]]]:
    """Digests, and the other columns. Of a million rows little is held twice.

    A value that repeats, as labels and groups do, is one object.
    """
    digests, others = bytearray(), [name for name in names if name != "content_digest"]
    columns: dict[str, list[Any]] = {name: [] for name in others}
    seen: dict[str, dict[Any, Any]] = {name: {} for name in others if name != "id"}
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, columns=names).to_pydict()
        digests += packed(table["content_digest"])
        for name in others:
            same = seen.get(name)
            values = table[name]
            columns[name] += values if same is None else [same.setdefault(v, v) for v in values]
    return ContentDigests(digests), columns


def _read_manifest(path: Path) -> BenchmarkManifest:
    try:
        return BenchmarkManifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise _damaged(path, f"cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise _damaged(path, f"is not a benchmark manifest: {field}: {first['msg']}") from None


def _check_rows(path: Path, expected: int | None) -> None:
    with parquet_errors(path):
        rows = pq.read_metadata(path).num_rows
    if expected is not None and rows != expected:
        raise _damaged(path, f"has {rows} rows, the manifest says {expected}")


def _damaged(path: Path, problem: str) -> BenchmarkInvalid:
    return BenchmarkInvalid(
        f"{path} {problem}; import the benchmark again", path=path, problem=problem
    )
