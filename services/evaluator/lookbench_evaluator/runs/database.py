"""One SQLite database, owned by one evaluator, safe to use from several threads."""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from lookbench_evaluator.errors import StoreUnavailable
from lookbench_evaluator.runs.migrations import MIGRATIONS, migrate, schema_version
from lookbench_evaluator.runs.store_faults import check_pages, damaged, folder_fault, sqlite_fault

DATABASE_NAME = "runs.sqlite3"
LOCK_NAME = "lock"


class Database:
    """A connection in WAL mode behind a lock.

    Raises StoreUnavailable for what may pass or be put right while it is open: a full
    disk, a read-only or removed folder, another owner; also for a newer schema. Raises
    StoreCorrupted for a damaged file: at once when the last owner did not close it,
    else when the damage is met.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / DATABASE_NAME
        self._guard = threading.RLock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._owner = _own(folder)
            self._db = self._open_owned()
        except OSError as error:
            raise folder_fault(folder, error) from error
        self._identity = _identity(self.path)

    def _open_owned(self) -> sqlite3.Connection:
        try:
            return self._open()
        except BaseException:
            os.close(self._owner)
            raise

    def _open(self) -> sqlite3.Connection:
        self._refuse_emptied()
        # A clean close removes the file of what is not yet in the database.
        was_left_open = self.path.with_name(f"{DATABASE_NAME}-wal").exists()
        with self.translated():
            db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            try:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
                db.execute("PRAGMA foreign_keys = ON")
                if was_left_open:
                    check_pages(db, self.path)
                self._refuse_newer(db)
                migrate(db)
            except BaseException:
                db.close()
                raise
            return db

    def _refuse_emptied(self) -> None:
        """SQLite takes a file of no bytes for a new database: all that was stored would go."""
        if not self.path.exists() or self.path.stat().st_size:
            return
        others = [p for p in self.path.parent.iterdir() if p.is_dir() and any(p.iterdir())]
        if others:
            raise damaged(self.path, f"it holds nothing, although {others[0]} does")

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
        with self._guard, self.translated():
            yield self._db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection inside a transaction: all of it is stored, or nothing."""
        with self._guard, self.translated():
            self.check_in_place()
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk has rolled back already
                    self._db.execute("ROLLBACK")
                raise

    def check_in_place(self) -> None:
        """Raises StoreUnavailable when the file is not the one that is open.

        A removed file stays usable to those who have it open, and what they write is
        lost when they close it.
        """
        if _identity(self.path) != self._identity:
            raise StoreUnavailable(
                f"{self.path} was removed or replaced while the evaluator uses it; put it back, "
                "or restart the evaluator to begin with what is there now",
                path=self.path,
            )

    def close(self) -> None:
        """Closes the connection and lets another evaluator have the folder."""
        with self._guard:
            try:
                self._db.close()
            finally:
                os.close(self._owner)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turns what SQLite says, and records that cannot be parsed, into errors with a next step.

        Raises StoreCorrupted, StoreUnavailable.
        """
        try:
            yield
        except sqlite3.Error as error:
            raise sqlite_fault(self.path, error) from error
        except ValidationError as error:
            first = error.errors()[0]
            problem = f"a {error.title} of it cannot be read ({first['msg']})"
            raise damaged(self.path, problem) from error


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file a path names; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


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
