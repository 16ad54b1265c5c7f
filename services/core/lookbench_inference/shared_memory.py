"""Inputs that travel through /dev/shm to a server on the same host.

A region is a file that both map. Its name is never used twice, because a server that
knows a name keeps what it mapped then, even when the file behind it is another one. Its
owner holds a lock on it, so that whoever starts later can tell which are abandoned,
across containers too; the kernel gives the lock up with the process, killed or not.

An answer never travels this way, and a region is only read by the server: one that
serves a request whose caller gave up may be filled anew, what comes of it goes nowhere.
"""

import contextlib
import fcntl
import mmap
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FOLDER = Path("/dev/shm")  # noqa: S108 - where the kernel keeps POSIX shared memory
PREFIX = "lookbench-client-"
ALIGNMENT = 64
"""Bytes; every tensor begins at a multiple of it."""


class RegionUnknown(Exception):
    """The server does not know the region: it was started anew."""


class RegionRefused(Exception):
    """The server cannot open the region, or will not let it go while it is in use."""


class Region:
    """A file in /dev/shm, mapped here and locked until `remove`.

    registered: whether the server at the other end is thought to know it.
    """

    def __init__(self, size: int, folder: Path = FOLDER) -> None:
        """Raises OSError when the folder is absent, not writable or full."""
        self.size = size
        self.name = f"{PREFIX}{os.getpid()}-{uuid.uuid4().hex}"
        self.registered = False
        self._path = folder / self.name
        self._file = _locked_file(self._path)
        try:
            # Without memory behind it, writing to the map would end the process (SIGBUS).
            os.posix_fallocate(self._file, 0, size)
            self._map = mmap.mmap(self._file, size)
        except BaseException:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            raise

    @property
    def key(self) -> str:
        """The name by which shm_open finds it."""
        return f"/{self.name}"

    def fill(self, inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, int]:
        """Copies the arrays in, one after the other; where each begins, in bytes.

        They must fit: see `bytes_needed`.
        """
        offsets, offset = {}, 0
        for name, array in inputs.items():
            target = np.frombuffer(self._map, array.dtype, array.size, offset)
            target.reshape(array.shape)[...] = array
            offsets[name] = offset
            offset += _aligned(array.nbytes)
        return offsets

    def remove(self) -> None:
        """Unmaps and deletes it; a server that still maps it keeps its memory."""
        self._path.unlink(missing_ok=True)
        self._map.close()
        os.close(self._file)


def bytes_needed(inputs: Mapping[str, npt.NDArray[Any]]) -> int:
    """How large a region the arrays fill."""
    return sum(_aligned(array.nbytes) for array in inputs.values())


def remove_abandoned(folder: Path = FOLDER) -> int:
    """Deletes the regions of processes that are gone; how many there were."""
    return sum(_remove_if_abandoned(path) for path in folder.glob(f"{PREFIX}*"))


def known_here(name: str, folder: Path = FOLDER) -> bool:
    """Whether the region of that name has an owner that may still use it."""
    return not name.startswith(PREFIX) or (folder / name).exists()


def is_local(url: str) -> bool:
    """Whether a gRPC address is of this host: loopback, or a Unix socket."""
    if url.startswith(("unix:", "unix-abstract:")):
        return True
    address = url.removeprefix("ipv4:").removeprefix("ipv6:")
    host = address.rpartition(":")[0].strip("[]")
    return host in ("localhost", "::1") or host.startswith("127.")


def _locked_file(path: Path) -> int:
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file).st_nlink:
            return file
        os.close(file)  # somebody took it for abandoned before it was locked


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _remove_if_abandoned(path: Path) -> bool:
    with contextlib.suppress(OSError):  # gone meanwhile, another user's, or in use
        file = os.open(path, os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
            return True
        finally:
            os.close(file)
    return False
