"""IDX files, gzip-compressed or plain (format: yann.lecun.com/exdb/mnist, end of page)."""

import gzip
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path

from lookbench_evaluator.errors import BenchmarkInvalid

_UNSIGNED_BYTE = 0x08
_PIECE = 1 << 20


@dataclass(frozen=True)
class IdxFile:
    """An array of unsigned bytes, its header read and its size checked."""

    path: Path
    shape: tuple[int, ...]

    @classmethod
    def open(cls, path: Path, dimensions: int) -> "IdxFile":
        """Reads the header and counts the bytes behind it.

        Raises BenchmarkInvalid naming the file when it is damaged, not IDX, of
        another number of dimensions, or longer or shorter than its header says.
        """
        try:
            with _opened(path) as file:
                shape = _shape(path, file, dimensions)
                size = sum(map(len, iter(lambda: file.read(_PIECE), b"")))
        except (OSError, EOFError, zlib.error) as error:
            raise _invalid(path, f"cannot be read: {error}") from None
        expected = _product(shape)
        if size != expected:
            raise _invalid(path, f"holds {size} bytes of data, its header promises {expected}")
        return cls(path, shape)

    def records(self, count: int) -> Iterator[bytes]:
        """The first `count` entries along the first axis."""
        length = _product(self.shape[1:])
        with _opened(self.path) as file:
            file.seek(4 + 4 * len(self.shape))
            for _ in range(count):
                yield file.read(length)


def _opened(path: Path) -> BufferedIOBase:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _shape(path: Path, file: BufferedIOBase, dimensions: int) -> tuple[int, ...]:
    header = file.read(4 + 4 * dimensions)
    if len(header) < 4 + 4 * dimensions:
        raise _invalid(path, f"ends within its header, after {len(header)} bytes")
    zero, kind, found = struct.unpack(">HBB", header[:4])
    if (zero, kind) != (0, _UNSIGNED_BYTE):
        raise _invalid(path, f"starts with {header[:4].hex()}, not as an IDX file of bytes")
    if found != dimensions:
        raise _invalid(path, f"has {found} dimensions, not {dimensions}")
    shape = struct.unpack(f">{dimensions}I", header[4:])
    if 0 in shape:
        raise _invalid(path, f"is empty: its header says {shape}")
    return shape


def _product(sizes: tuple[int, ...]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product


def _invalid(path: Path, problem: str) -> BenchmarkInvalid:
    return BenchmarkInvalid(f"{path} {problem}; fetch the file again", path=path, problem=problem)
