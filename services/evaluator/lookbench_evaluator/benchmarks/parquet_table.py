"""Rows of parquet files, a few at a time, with their columns checked first."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from lookbench_evaluator.errors import BenchmarkInvalid

Kind = Literal["image", "text", "id"]
_BATCH_ROWS = 64
_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True)
class ParquetTable:
    """Files with the same columns, read as one table in the order given."""

    files: tuple[Path, ...]

    @classmethod
    def open(cls, files: Sequence[Path], columns: Mapping[str, Kind]) -> "ParquetTable":
        """Checks that every file is whole and has `columns` of a usable type.

        Kinds: `image` a struct of bytes and path, bytes, or a path; `text` a
        string; `id` a string or an integer. A column of nulls passes as any.

        Raises BenchmarkInvalid naming file, column and type.
        """
        for path in files:
            with parquet_errors(path), pq.ParquetFile(path) as file:
                _check_columns(path, file.schema_arrow, columns)
        return cls(tuple(files))

    def has(self, column: str) -> bool:
        """Whether every file has the column."""
        return all(column in pq.read_schema(path).names for path in self.files)

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[int, Path, dict[str, Any]]]:
        """(position from 0 over all files, file, values by column)."""
        position = 0
        for path in self.files:
            with parquet_errors(path), open_streaming(path) as file:
                for batch in file.iter_batches(_BATCH_ROWS, columns=list(columns)):
                    for values in batch.to_pylist():
                        yield position, path, values
                        position += 1


def open_streaming(path: Path) -> pq.ParquetFile:
    """A file read a megabyte at a time, checksums of pages verified where it has them.

    Without these settings a whole file of images would be held while its rows pass.
    """
    return pq.ParquetFile(
        path, pre_buffer=False, buffer_size=_BUFFER_BYTES, page_checksum_verification=True
    )


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Turns what pyarrow raises on damaged files into BenchmarkInvalid naming the file."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BenchmarkInvalid(
            f"{path} is not a readable parquet file: {text}; fetch or import it again", path=path
        ) from error


def _check_columns(path: Path, schema: pa.Schema, columns: Mapping[str, Kind]) -> None:
    for name, kind in columns.items():
        if name not in schema.names:
            raise BenchmarkInvalid(
                f"{path} lacks the column {name!r}; it has: {', '.join(schema.names)}",
                path=path,
                column=name,
            )
        found = schema.field(name).type
        if not _fits(found, kind):
            raise BenchmarkInvalid(
                f"{path}: column {name!r} has type {found}, expected {_EXPECTED[kind]}",
                path=path,
                column=name,
                type=found,
            )


_EXPECTED = {
    "image": "a struct of bytes and path, binary or string",
    "text": "string",
    "id": "string or integer",
}


def _fits(found: pa.DataType, kind: Kind) -> bool:
    if pa.types.is_null(found):
        return True
    if pa.types.is_dictionary(found):
        found = found.value_type
    if kind == "image":
        return _is_image(found)
    return _is_string(found) or (kind == "id" and pa.types.is_integer(found))


def _is_image(found: pa.DataType) -> bool:
    if not pa.types.is_struct(found):
        return _is_string(found) or _is_bytes(found)
    parts = {found.field(i).name: found.field(i).type for i in range(found.num_fields)}
    content, path = parts.get("bytes", pa.null()), parts.get("path", pa.null())
    return (
        bool(parts.keys() & {"bytes", "path"})
        and (pa.types.is_null(content) or _is_bytes(content))
        and (pa.types.is_null(path) or _is_string(path))
    )


def _is_string(found: pa.DataType) -> bool:
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found))


def _is_bytes(found: pa.DataType) -> bool:
    return bool(pa.types.is_binary(found) or pa.types.is_large_binary(found))
