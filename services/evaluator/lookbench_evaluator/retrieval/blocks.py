"""Galleries cut into blocks for `exact.rank`."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic

from lookbench_evaluator.retrieval.errors import InvalidVectors
from lookbench_evaluator.retrieval.vectors import Vectors, chunks

DEFAULT_ROWS = 16384


def of_array(vectors: Vectors, rows: int = DEFAULT_ROWS) -> Iterator[tuple[int, Vectors]]:
    """Yield (first row, float32 [<= rows, D]) of an array in memory, as views."""
    for part in chunks(len(vectors), rows):
        yield part.start, vectors[part]


def of_file(path: Path, rows: int = DEFAULT_ROWS) -> Iterator[tuple[int, Vectors]]:
    """Yield (first row, float32 [<= rows, D]) of a .npy file, read block by block.

    Plain reads, not a memory map: pages of a map count as the process's memory
    once touched, so that a large gallery would look resident.

    Raises:
        InvalidVectors: not a .npy file of float32 [N, D] in C order, or cut
            short; names the file.
    """
    with path.open("rb") as file:
        count, dimension = _header(path, file)
        for part in chunks(count, rows):
            wanted = part.stop - part.start
            block = np.fromfile(file, dtype="<f4", count=wanted * dimension)
            if len(block) < wanted * dimension:
                raise InvalidVectors(
                    f"{path} ends within row {part.start + len(block) // dimension} of {count}; "
                    "write it again",
                    path=path,
                )
            yield part.start, block.reshape(wanted, dimension)


def whole_file(path: Path) -> Vectors:
    """Read a whole .npy file, float32 [N, D]. Raises as `of_file`."""
    return np.concatenate([block for _, block in of_file(path)])


def _header(path: Path, file: BinaryIO) -> tuple[int, int]:
    """Read up to the first component; return rows and dimension."""
    try:
        major, _ = read_magic(file)
        read = read_array_header_1_0 if major == 1 else read_array_header_2_0
        shape, fortran_order, dtype = read(file)
    except ValueError as error:
        raise InvalidVectors(f"{path} is no .npy file: {error}", path=path) from error
    if len(shape) != 2 or fortran_order or dtype != np.dtype("<f4"):
        raise InvalidVectors(
            f"{path} holds {dtype} {list(shape)} instead of float32 [N, D] in C order", path=path
        )
    return int(shape[0]), int(shape[1])
