"""The file of the embedding cache: opening it, sharing it with other processes, its size."""

import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lookbench_inference.cache_blocks import SCHEMA

FILE_NAME = "embeddings.sqlite3"
LOCK_NAME = "embeddings.lock"
DAMAGED_SUFFIX = ".damaged"
BUSY_S = 10.0
# "LBec": says whose file it is, to `file` and to us.
_APPLICATION_ID = 0x4C426563
_VERSION = 1
_PAGE_BYTES = 4096
_OWN_MEMORY_KIB = 16 << 10
_MOST_LOG_BYTES = 32 << 20
_LEAST_LOG_BYTES = 256 << 10
_PATIENCE_MS = 200
_MOST_KEPT_FREE_BYTES = 1 << 30


class NotACache(Exception):
    """A sound SQLite file that another program, or another version, has made."""


class CacheFile:
    """One connection to the file, opened when it is first needed.

    Not for several threads at once: the caller serialises. Every method may raise
    sqlite3.Error, OSError or NotACache.
    """

    def __init__(self, path: Path, limit_bytes: int) -> None:
        self.path = path
        # What is written goes to the write-ahead log first: both together are the limit.
        self._log_bytes = min(max(limit_bytes // 20, _LEAST_LOG_BYTES), _MOST_LOG_BYTES)
        self._longest_log = 2 * self._log_bytes
        self.target_bytes = max(limit_bytes - self._log_bytes, 0)
        self._db: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._is_ours = False

    def connection(self) -> sqlite3.Connection:
        """The connection; a new one where the file was removed or replaced since."""
        if self._db is not None and self._identity != _identity(self.path):
            self.close()
        if self._db is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with _alone(self.path.with_name(LOCK_NAME)):
                self._db = self._open()
        return self._db

    def _open(self) -> sqlite3.Connection:
        self._identity, self._is_ours = _identity(self.path), False
        db = _opened(self.path, self._log_bytes)
        self._identity, self._is_ours = _identity(self.path), True
        return db

    def close(self) -> None:
        """Closes the connection; the next use opens another."""
        db, self._db = self._db, None
        if db is not None:
            with suppress(sqlite3.Error):
                db.close()

    def discard(self) -> None:
        """Takes the file away that was opened last: the next use begins a new one.

        A file that was ours when it was opened is removed; another is kept under the name
        `damaged`, in place of what was kept before. Nothing happens where another process
        has put a new file there already.
        """
        self.close()
        with _alone(self.path.with_name(LOCK_NAME)):
            if self._identity != _identity(self.path):
                return
            if self._is_ours:
                self.path.unlink(missing_ok=True)
            elif self._identity is not None:
                self.path.replace(self.damaged)
            for suffix in ("-wal", "-shm"):
                _beside(self.path, suffix).unlink(missing_ok=True)

    def is_absent(self) -> bool:
        """Whether nothing was stored yet, or all of it was removed."""
        try:
            return _identity(self.path) is None
        except OSError:  # opening will say what is wrong
            return False

    @property
    def damaged(self) -> Path:
        """Where a file goes that cannot be read."""
        return _beside(self.path, DAMAGED_SUFFIX)

    def size(self) -> int:
        """Bytes on disk: the file and its write-ahead log."""
        return sum(map(_size, (self.path, _beside(self.path, "-wal"))))

    def room_bytes(self, db: sqlite3.Connection) -> int:
        """How large the file may be now: the limit, and never the last of the disk's space.

        Others, such as the store of the runs, need the disk more.
        """
        disk = shutil.disk_usage(self.path.parent)
        kept_free = min(disk.total // 20, _MOST_KEPT_FREE_BYTES)
        log_growth = max(self._longest_log - _size(_beside(self.path, "-wal")), 0)
        spare = disk.free - kept_free - log_growth
        return min(self.target_bytes, file_bytes(db) + max(spare, 0))

    def flush_long_log(self) -> None:
        """Empties the write-ahead log where steady readers kept it from starting over."""
        if _size(_beside(self.path, "-wal")) > self._longest_log:
            self.flush_log()

    def flush_log(self) -> None:
        """Moves the write-ahead log into the file and cuts it to nothing, if that is soon done."""
        db = self.connection()
        db.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
        try:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            db.execute(f"PRAGMA busy_timeout = {round(BUSY_S * 1000)}")


@contextmanager
def transaction(db: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """All of it is stored, or nothing; DEFERRED: reads see one state."""
    db.execute(f"BEGIN {kind}")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # a full disk has rolled back already
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
        raise


def used_bytes(db: sqlite3.Connection) -> int:
    """Bytes of the pages that hold something."""
    return (_pragma(db, "page_count") - free_pages(db)) * _PAGE_BYTES


def file_bytes(db: sqlite3.Connection) -> int:
    """Bytes of all pages, free ones included."""
    return _pragma(db, "page_count") * _PAGE_BYTES


def free_pages(db: sqlite3.Connection) -> int:
    """Pages of the file that hold nothing."""
    return _pragma(db, "freelist_count")


def give_back(db: sqlite3.Connection, pages: int) -> None:
    """Returns up to `pages` free pages to the file system."""
    # One step frees one page, and `execute` takes one step where it sees no columns.
    db.executescript(f"PRAGMA incremental_vacuum({pages})")


def _opened(path: Path, log_bytes: int) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        if _is_empty(db):
            _create(db)
        elif not _is_ours(db):
            raise NotACache("the file is not an embedding cache of this version")
        _tune(db, log_bytes)
    except BaseException:
        db.close()
        raise
    return db


def _is_empty(db: sqlite3.Connection) -> bool:
    return not _pragma(db, "application_id") and not _count(db, "sqlite_master")


def _is_ours(db: sqlite3.Connection) -> bool:
    marks = _pragma(db, "application_id"), _pragma(db, "user_version")
    return marks == (_APPLICATION_ID, _VERSION)


def _create(db: sqlite3.Connection) -> None:
    # Page size and vacuum can be chosen only before the first page is written.
    db.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    db.execute("PRAGMA journal_mode = WAL")
    with transaction(db):
        for statement in SCHEMA:
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {_VERSION}")


def _tune(db: sqlite3.Connection, log_bytes: int) -> None:
    db.execute("PRAGMA synchronous = NORMAL")
    # Debian's SQLite overwrites what it deletes: an eviction would cost twice the writing.
    db.execute("PRAGMA secure_delete = OFF")
    db.execute(f"PRAGMA cache_size = -{_OWN_MEMORY_KIB}")
    db.execute(f"PRAGMA wal_autocheckpoint = {log_bytes // 2 // _PAGE_BYTES}")
    db.execute(f"PRAGMA journal_size_limit = {log_bytes}")


def _pragma(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


def _count(db: sqlite3.Connection, table: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - our names


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time opens the file or takes it away: its name must not change meanwhile.

    Raises BlockingIOError when another holds the lock for longer than BUSY_S.
    """
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _wait_for(descriptor)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.01)
