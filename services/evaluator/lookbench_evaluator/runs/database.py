"""One SQLite database, owned by one evaluator, safe to use from several threads."""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lookbench_evaluator.errors import StoreUnavailable
from lookbench_evaluator.runs.migrations import MIGRATIONS, migrate, schema_version

DATABASE_NAME = "runs.sqlite3"
LOCK_NAME = "lock"


class Database:
    """A connection in WAL mode behind a lock.

    Raises StoreUnavailable for whatever SQLite or the file system refuses:
    a full disk, a read-only folder, a damaged file, a newer schema.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / DATABASE_NAME
        self._guard = threading.RLock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._owner = _own(folder)
        except OSError as error:
            raise StoreUnavailable(
                f"cannot use {folder}: {error.strerror}; set store_dir to a writable folder",
                path=folder,
            ) from error
        self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        with self._translated():
            db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA foreign_keys = ON")
            self._refuse_newer(db)
            migrate(db)
            return db

    def _refuse_newer(self, db: sqlite3.Connection) -> None:
        found = schema_version(db)
        if found > len(MIGRATIONS):
            raise StoreUnavailable(
                f"{self.path} has schema {found}, this evaluator knows {len(MIGRATIONS)}; "
                "use the newer evaluator or another store_dir",
                path=self.path,
            )

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, alone."""
        with self._guard, self._translated():
            yield self._db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection inside a transaction: all of it is stored, or nothing."""
        with self._guard, self._translated():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk has rolled back already
                    self._db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Closes the connection and lets another evaluator have the folder."""
        with self._guard:
            self._db.close()
            os.close(self._owner)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreUnavailable(
                f"{self.path}: {error}; free space, or restore the file from a copy",
                path=self.path,
                detail=error,
            ) from error


def _own(folder: Path) -> int:
    """An open descriptor that holds the folder's lock until the process ends."""
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise StoreUnavailable(
            f"another evaluator uses {folder}; stop it or give this one its own store_dir",
            path=folder,
        ) from None
    return descriptor
