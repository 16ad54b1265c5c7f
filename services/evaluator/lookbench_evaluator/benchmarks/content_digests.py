"""Digests of a collection's contents, 32 bytes each instead of a string of 71 characters."""

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

PREFIX = "sha256:"
SIZE = 32
_DIGEST = np.dtype((np.void, SIZE))


class ContentDigests(Sequence[str]):
    """`sha256:<hex>` of row after row; of a million rows it holds 32 MB."""

    def __init__(self, packed: bytes | bytearray) -> None:
        """`packed`: the digests' bytes, SIZE of them a row."""
        self._packed = memoryview(packed)

    @classmethod
    def of(cls, digests: Iterable[str]) -> "ContentDigests":
        """From their usual form."""
        return cls(packed(digests))

    def __len__(self) -> int:
        return len(self._packed) // SIZE

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(len(self)))]
        if not 0 <= row < len(self):
            raise IndexError(row)
        return PREFIX + self._packed[row * SIZE : (row + 1) * SIZE].hex()

    @property
    def raw(self) -> npt.NDArray[np.void]:
        """One void of SIZE bytes a row, for sorting and comparing."""
        return np.frombuffer(self._packed, dtype=_DIGEST)


def packed(digests: Iterable[str]) -> bytes:
    """The digests' bytes, one after the other."""
    return b"".join(bytes.fromhex(digest.removeprefix(PREFIX)) for digest in digests)


def groups_of_equals(raw: npt.NDArray[np.void]) -> list[npt.NDArray[np.int64]]:
    """Rows with equal digests, ascending, for each digest that occurs more than once."""
    order = np.argsort(raw, kind="stable")
    ordered = raw[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sizes = np.diff(np.append(begins, len(raw)))
    return [order[b : b + n] for b, n in zip(begins, sizes, strict=True) if n > 1]
