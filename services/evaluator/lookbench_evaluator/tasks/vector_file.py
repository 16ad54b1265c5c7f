"""Vectors of one collection on disk, written shard by shard and read in blocks."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.lib.format import write_array_header_1_0

from lookbench_evaluator.errors import StoreUnavailable
from lookbench_evaluator.retrieval.vectors import Vectors


class VectorFile:
    """A .npy file of float32 [N, D] whose rows may be written in any order.

    The whole size is reserved at once: a disk that is too small is noticed before
    anything is embedded. Rows that were never written are zeros. `retrieval.blocks`
    reads such files. Safe from several threads, also from one that does not know yet
    that its run was cancelled and the file closed.
    """

    def __init__(self, path: Path, rows: int, dimension: int) -> None:
        """Opens the file, or makes a new one where there is none of this shape.

        Raises StoreUnavailable.
        """
        self.path, self._shape = path, (rows, dimension)
        self._guard, self._closed = threading.Lock(), False
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._start = self._reserve()
        except OSError as error:
            raise self._failure(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._guard:
            self._closed = True
            os.close(self._descriptor)

    def write(self, start: int, vectors: Vectors) -> None:
        """Writes rows from `start` on. Raises StoreUnavailable."""
        data = np.ascontiguousarray(vectors, dtype="<f4").reshape(-1).view(np.uint8).data
        offset = self._offset(start)
        with self._using():
            while len(data):
                written = os.pwrite(self._descriptor, data, offset)
                data, offset = data[written:], offset + written

    def read(self, start: int, stop: int) -> Vectors:
        """float32 [stop - start, D]. Raises StoreUnavailable."""
        rows = np.empty((stop - start, self._shape[1]), dtype="<f4")
        with self._using():
            os.preadv(self._descriptor, [rows.reshape(-1).view(np.uint8).data], self._offset(start))
        return rows

    @contextmanager
    def _using(self) -> Iterator[None]:
        with self._guard:
            if self._closed:  # its number may belong to another file by now
                raise ValueError(f"{self.path} is closed")
            try:
                yield
            except OSError as error:
                raise self._failure(error) from error

    def _offset(self, row: int) -> int:
        return self._start + row * self._row_bytes

    @property
    def _row_bytes(self) -> int:
        return 4 * self._shape[1]

    def _reserve(self) -> int:
        """Writes the header unless it is there already; returns where the rows begin."""
        header = _header(self._shape)
        size = len(header) + self._shape[0] * self._row_bytes
        status = os.fstat(self._descriptor)
        if status.st_size != size or os.pread(self._descriptor, len(header), 0) != header:
            os.ftruncate(self._descriptor, 0)
            os.posix_fallocate(self._descriptor, 0, size)
            os.pwrite(self._descriptor, header, 0)
        return len(header)

    def _failure(self, error: OSError) -> StoreUnavailable:
        needed = self._shape[0] * self._row_bytes
        return StoreUnavailable(
            f"cannot keep {needed:,} bytes of vectors in {self.path}: {error.strerror}; free "
            "space there or correct its permissions, then resume the run",
            path=self.path,
            bytes=needed,
        )


def _header(shape: tuple[int, int]) -> bytes:
    buffer = BytesIO()
    write_array_header_1_0(buffer, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return buffer.getvalue()
