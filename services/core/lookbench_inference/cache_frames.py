"""How a vector lies in the cache's file: beside the digest of its content, under a checksum.

The checksum covers vector, digest, flag and space, so that neither a damaged vector nor an
index that points at somebody else's is ever taken for the right one.
"""

import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from lookbench_inference.space import VectorSpace

DIGEST_BYTES = 32
_SUM_BYTES = 4

Frames = npt.NDArray[np.void]


@lru_cache
def frame_type(dimension: int) -> np.dtype[Any]:
    """One entry: checksum, whether the text was cut, content digest, vector."""
    return np.dtype(
        [
            ("sum", "<u4"),
            ("truncated", "u1"),
            ("content", f"V{DIGEST_BYTES}"),
            ("vector", "<f4", (dimension,)),
        ]
    )


def content_key(digest: str) -> bytes:
    """The 32 bytes of `sha256:<hex>`. Raises ValueError for anything else."""
    algorithm, _, digits = digest.partition(":")
    if algorithm != "sha256" or len(digits) != 2 * DIGEST_BYTES:
        raise ValueError(f"{digest!r} is not of the form sha256:<64 hex digits>")
    return bytes.fromhex(digits)


def packed(
    space: VectorSpace,
    contents: Sequence[bytes],
    vectors: npt.NDArray[np.float32],
    truncated: npt.NDArray[np.bool_],
) -> Frames:
    """Frames [N] of vectors float32 [N, D], bit for bit."""
    frames: Frames = np.zeros(len(contents), frame_type(space.dimension))
    frames["content"] = _voids(contents)
    frames["vector"] = vectors
    frames["truncated"] = truncated
    frames["sum"] = _sums(space, frames)
    return frames


def intact(space: VectorSpace, frames: Frames, contents: Sequence[bytes]) -> npt.NDArray[np.bool_]:
    """Whether frame i is exactly what was packed for `contents[i]` in `space`: bool [N]."""
    right: npt.NDArray[np.bool_] = frames["content"] == _voids(contents)
    right &= frames["sum"] == _sums(space, frames)
    return right


def _voids(contents: Sequence[bytes]) -> npt.NDArray[np.void]:
    return np.frombuffer(b"".join(contents), f"V{DIGEST_BYTES}")


def _sums(space: VectorSpace, frames: Frames) -> npt.NDArray[np.uint32]:
    start = zlib.crc32(space.digest.encode())
    size = frames.dtype.itemsize
    data = memoryview(frames.tobytes())
    starts = range(_SUM_BYTES, len(data), size)
    sums = [zlib.crc32(data[at : at + size - _SUM_BYTES], start) for at in starts]
    return np.array(sums, np.uint32)
