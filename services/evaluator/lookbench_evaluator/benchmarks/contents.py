"""Contents of a collection by row: read in order, skipped where nobody asks."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from lookbench_core.benchmark import Modality
from lookbench_evaluator.benchmarks.parquet_table import open_streaming, parquet_errors

BATCH_ROWS = 64


class ContentReader:
    """Encoded images or texts of a collection's file.

    Ascending rows are read once; row groups in which no row is asked for are not
    read at all. Holds one batch. Not for several threads at once.
    """

    def __init__(self, path: Path, modality: Modality) -> None:
        """Opens the file. Raises BenchmarkInvalid naming it."""
        self._path, self._image = path, modality == "image"
        with parquet_errors(path):
            self._file = open_streaming(path)
            groups = range(self._file.num_row_groups)
            sizes = [self._file.metadata.row_group(group).num_rows for group in groups]
        self._bounds = [0, *accumulate(sizes)]
        self._group = -1
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._start, self._values = 0, list[Any]()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def read(self, rows: Sequence[int]) -> list[bytes | str]:
        """Contents of `rows`, best in ascending order.

        Raises BenchmarkInvalid naming the file when a page does not have the
        checksum with which it was written.
        """
        with parquet_errors(self._path):
            return [self._one(row) for row in rows]

    def _one(self, row: int) -> bytes | str:
        if not self._start <= row < self._start + len(self._values):
            self._seek(row)
        value = self._values[row - self._start]
        content: bytes | str = value["bytes"] if self._image else value
        return content

    def _seek(self, row: int) -> None:
        """Makes the batch with `row` the current one."""
        group, end = bisect_right(self._bounds, row) - 1, self._start + len(self._values)
        if group != self._group or row < self._start:
            column = "image.bytes" if self._image else "text"
            self._batches = self._file.iter_batches(BATCH_ROWS, [group], [column])
            self._group, end = group, self._bounds[group]
        while end <= row:
            batch = next(self._batches)
            self._start, end = end, end + len(batch)
        self._values = batch.column(0).to_pylist()
