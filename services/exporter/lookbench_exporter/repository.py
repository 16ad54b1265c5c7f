"""Writing a model into Triton's repository so that no reader ever sees half of it.

    <repository>/.staging-<random>/<name>/…     filled and checked here
    <repository>/<name>/…                       then renamed into place

The staging folder is on the same file system as the target, so the rename is
atomic. A model that is replaced stays until then: the kernel exchanges the two
folders in one step. The staging folder has no config.pbtxt of its own, so
neither Triton nor the evaluator takes it for a model.
"""

import contextlib
import ctypes
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lookbench_exporter.errors import RepositoryUnwritable

PREFIX = ".staging-"
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def check_writable(repository: Path) -> None:
    """Makes the repository if need be. Raises RepositoryUnwritable before any work is done."""
    with _translated(repository):
        repository.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryDirectory(prefix=PREFIX, dir=repository).cleanup()


@contextlib.contextmanager
def staging(repository: Path, name: str) -> Iterator[Path]:
    """An empty folder to fill; it is gone at the end, whatever happened.

    Raises RepositoryUnwritable for every failure of the file system within.
    """
    with _translated(repository):
        _remove_abandoned(repository)
        outer = Path(tempfile.mkdtemp(prefix=PREFIX, dir=repository))
        lock = _locked(outer)
        try:
            folder = outer / name
            folder.mkdir()
            yield folder
        finally:
            shutil.rmtree(outer, ignore_errors=True)
            os.close(lock)


def publish(folder: Path, target: Path) -> None:
    """Moves a finished folder to `target`, and whatever was there to `folder`.

    Contents are on disk before the rename: after a power cut the target is the
    old model or the new one.
    """
    with _translated(target.parent):
        for path in (*folder.rglob("*"), folder):
            _sync(path)
        if target.exists():
            _exchange(folder, target)
        else:
            folder.rename(target)
        _sync(target.parent)


@contextlib.contextmanager
def _translated(repository: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RepositoryUnwritable(
            f"cannot write {error.filename or repository}: {error.strerror or error}; "
            "check rights and free space, or choose another --repository",
            path=error.filename or repository,
            detail=error.strerror,
        ) from error


def _locked(folder: Path) -> int:
    """Marks a staging folder as in use for as long as this process lives."""
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _remove_abandoned(repository: Path) -> None:
    """Deletes staging folders of exports that were killed: nobody holds their lock."""
    for folder in repository.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # A folder that holds nothing yet may be another export's, not locked yet.
                if any(folder.iterdir()):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exchange(folder: Path, target: Path) -> None:
    """Swaps two folders; in one step where the kernel and file system can."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is not None:
        ends = (os.fsencode(folder), os.fsencode(target))
        if renameat2(_AT_FDCWD, ends[0], _AT_FDCWD, ends[1], _RENAME_EXCHANGE) == 0:
            return
    _exchange_in_steps(folder, target)


def _exchange_in_steps(folder: Path, target: Path) -> None:
    aside = folder.with_name(folder.name + ".old")
    target.rename(aside)
    try:
        folder.rename(target)
    except OSError:
        aside.rename(target)
        raise
    aside.rename(folder)
