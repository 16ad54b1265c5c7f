"""What SQLite and the file system say of a store, as errors with a next step."""

import errno
import sqlite3
from pathlib import Path

from lookbench_evaluator.errors import StoreCorrupted, StoreUnavailable

WHOLE_CHECK_BYTES = 256 << 20
"""Up to this size every page is checked: 100 MB take 0.04 s from memory and some 2 s from a
slow disk. Of a larger store only the tables that are short are checked; damage among the
results of queries is then met when these are read."""
SHORT_TABLES = ("runs", "run_models", "shards", "requests", "benchmarks")

_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_STEPS = {
    sqlite3.SQLITE_FULL: "free space there",
    sqlite3.SQLITE_READONLY: "make file and folder writable",
    sqlite3.SQLITE_PERM: "make file and folder writable",
    sqlite3.SQLITE_CANTOPEN: "make file and folder readable and writable",
    sqlite3.SQLITE_BUSY: "end the other program that has the file open",
    sqlite3.SQLITE_LOCKED: "end the other program that has the file open",
    sqlite3.SQLITE_NOMEM: "free memory",
}
_OTHER_STEP = "free space there, and look at the disk"


def sqlite_fault(path: Path, error: sqlite3.Error) -> StoreCorrupted | StoreUnavailable:
    """The error that `error`, met on the file `path`, is for callers."""
    primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if primary in _DAMAGE:
        return damaged(path, str(error))
    step = _STEPS.get(primary, _OTHER_STEP)
    return StoreUnavailable(f"{path}: {error}; {step}", path=path, detail=error)


def folder_fault(folder: Path, error: OSError) -> StoreUnavailable:
    """The error for a folder that cannot be used."""
    full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    step = "free space there" if full else "make it writable"
    return StoreUnavailable(
        f"cannot use {folder}: {error.strerror}; {step}, or set store_dir to another folder",
        path=folder,
        detail=error.strerror,
    )


def damaged(path: Path, problem: str) -> StoreCorrupted:
    """The error for a file whose content is wrong.

    SQLite would apply a -wal file that is left behind to the copy that is put back.
    """
    return StoreCorrupted(
        f"{path} is damaged: {problem}; stop the evaluator, move the file and its -wal and -shm "
        "away, then put a copy back, or start without one and import the benchmarks again",
        path=path,
        detail=problem,
    )


def check_pages(db: sqlite3.Connection, path: Path) -> None:
    """Looks for damaged pages, in bounded time. Raises StoreCorrupted, sqlite3.Error."""
    if path.stat().st_size <= WHOLE_CHECK_BYTES:
        _check(db, path, "PRAGMA quick_check(1)")
        return
    known = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in SHORT_TABLES:
        if table in known:
            _check(db, path, f"PRAGMA quick_check({table})")


def _check(db: sqlite3.Connection, path: Path, statement: str) -> None:
    (said,) = db.execute(statement).fetchone()
    if said != "ok":
        raise damaged(path, " ".join(str(said).splitlines()[-1].split()))
