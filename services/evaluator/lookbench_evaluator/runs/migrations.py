"""The store's schema, as numbered steps. Steps are appended, never edited."""

import sqlite3

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            position INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            state TEXT NOT NULL,
            benchmark TEXT NOT NULL,
            record TEXT NOT NULL,
            report TEXT
        )""",
        "CREATE INDEX runs_by_state ON runs (state)",
        """CREATE TABLE run_models (
            run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            model TEXT NOT NULL,
            PRIMARY KEY (run_id, model)
        )""",
        """CREATE TABLE query_results (
            run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            subset TEXT NOT NULL,
            record TEXT NOT NULL,
            PRIMARY KEY (run_id, position)
        ) WITHOUT ROWID""",
        """CREATE TABLE requests (
            request_id TEXT PRIMARY KEY,
            body_digest TEXT NOT NULL,
            run_id TEXT NOT NULL,
            created REAL NOT NULL
        )""",
        """CREATE TABLE benchmarks (
            id TEXT PRIMARY KEY,
            record TEXT NOT NULL
        )""",
    ),
    (
        """CREATE TABLE shards (
            run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            part TEXT NOT NULL,
            start INTEGER NOT NULL,
            key TEXT NOT NULL,
            checksum INTEGER NOT NULL,
            truncated INTEGER NOT NULL,
            PRIMARY KEY (run_id, part, start)
        ) WITHOUT ROWID""",
        "ALTER TABLE runs ADD COLUMN caller TEXT NOT NULL DEFAULT ''",
    ),
)


def migrate(db: sqlite3.Connection) -> None:
    """Applies the steps that the database has not had, each in a transaction of its own.

    `db` must be in autocommit mode (isolation_level None).
    """
    for number in range(schema_version(db), len(MIGRATIONS)):
        db.execute("BEGIN IMMEDIATE")
        try:
            for statement in MIGRATIONS[number]:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number + 1}")
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise


def schema_version(db: sqlite3.Connection) -> int:
    """How many steps the database has had."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    return int(version)
