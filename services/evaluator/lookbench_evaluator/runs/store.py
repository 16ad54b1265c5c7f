"""Runs, their results and their request ids, in the database.

Methods block on the disk: from asyncio call them through `asyncio.to_thread`.
"""

import itertools
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lookbench_evaluator.errors import (
    QueueFull,
    RequestIdReused,
    RunAlreadyExists,
    RunNotDeletable,
    RunNotFinished,
    RunNotFound,
    WrongState,
)
from lookbench_evaluator.runs.database import Database
from lookbench_evaluator.runs.model import NEXT, Run, State
from lookbench_evaluator.runs.results import QueryResult, Report

REQUEST_ID_LIFETIME_S = 24 * 3600.0
RESULTS_AT_ONCE = 500


@dataclass(frozen=True)
class RunFilter:
    """Which runs to list; empty fields do not filter. `before` is a position."""

    benchmark: str = ""
    model: str = ""
    states: tuple[State, ...] = ()
    before: int | None = None


@dataclass(frozen=True)
class PendingLimit:
    """Runs that may wait: in all, and of one caller."""

    total: int
    of_caller: int


class RunStore:
    """The runs of one evaluator, of which at most `limit.total` may wait.

    `on_change` hears of every stored run, in the caller's thread.
    """

    def __init__(
        self, database: Database, on_change: Callable[[Run], None], limit: PendingLimit
    ) -> None:
        self._database, self._on_change, self._limit = database, on_change, limit

    def create(self, run: Run, request_id: str, body_digest: str, now: float) -> Run:
        """Stores a run, or returns the one that the same request made before.

        Raises RequestIdReused, RunAlreadyExists, QueueFull.
        """
        with self._database.writing() as db:
            db.execute("DELETE FROM requests WHERE created < ?", (now - REQUEST_ID_LIFETIME_S,))
            known = _known_request(db, request_id, body_digest)
            if known is not None:
                return known
            self._check_room(db, run.caller)
            self._insert(db, run)
            if request_id:
                db.execute(
                    "INSERT INTO requests VALUES (?, ?, ?, ?)",
                    (request_id, body_digest, run.id, now),
                )
        self._on_change(run)
        return run

    def known_request(self, request_id: str, body_digest: str) -> Run | None:
        """The run that the same request made before, as it is now. Raises RequestIdReused."""
        with self._database.reading() as db:
            return _known_request(db, request_id, body_digest)

    def _check_room(self, db: sqlite3.Connection, caller: str) -> None:
        waiting, of_caller = db.execute(
            "SELECT count(*), count(*) FILTER (WHERE caller = ?) FROM runs WHERE state = ?",
            (caller, State.PENDING),
        ).fetchone()
        if waiting >= self._limit.total:
            raise QueueFull(
                f"{waiting} runs wait already; try again when some have ended",
                limit=self._limit.total,
            )
        if of_caller >= self._limit.of_caller:
            raise QueueFull(
                f"{of_caller} runs of yours wait already, and other callers need room; try "
                "again when some have ended",
                limit=self._limit.of_caller,
            )

    def _insert(self, db: sqlite3.Connection, run: Run) -> None:
        if db.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).fetchone():
            raise RunAlreadyExists(f"runs/{run.id}", "choose another run_id (`--run-id`)")
        spec = run.specification
        db.execute(
            "INSERT INTO runs (id, state, benchmark, record, caller) VALUES (?, ?, ?, ?, ?)",
            (run.id, run.state, spec.benchmark, run.model_dump_json(), run.caller),
        )
        db.executemany(
            "INSERT INTO run_models VALUES (?, ?)", [(run.id, m) for m in spec.system.models]
        )

    def get(self, run_id: str) -> Run:
        """Raises RunNotFound."""
        with self._database.reading() as db:
            return _read(db, run_id)

    def list(self, wanted: RunFilter, limit: int) -> Sequence[tuple[int, Run]]:
        """Positions and runs, newest first, at most `limit`."""
        where, values = _conditions(wanted)
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT position, record FROM runs WHERE {where} "  # noqa: S608 (fixed clauses)
                "ORDER BY position DESC LIMIT ?",
                (*values, limit),
            ).fetchall()
        with self._database.translated():
            return [(position, Run.model_validate_json(record)) for position, record in rows]

    def unfinished(self) -> Sequence[Run]:
        """PENDING and RUNNING runs, oldest first."""
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT record FROM runs WHERE state IN (?, ?) ORDER BY position",
                (State.PENDING, State.RUNNING),
            ).fetchall()
        with self._database.translated():
            return [Run.model_validate_json(record) for (record,) in rows]

    def uses_benchmark(self, benchmark: str) -> bool:
        """Whether an unfinished run needs the benchmark as it is."""
        with self._database.reading() as db:
            found = db.execute(
                "SELECT 1 FROM runs WHERE benchmark = ? AND state IN (?, ?) LIMIT 1",
                (benchmark, State.PENDING, State.RUNNING),
            ).fetchone()
        return found is not None

    def resumable(self) -> set[str]:
        """Ids of the runs that have not succeeded: what they have embedded may be needed."""
        with self._database.reading() as db:
            rows = db.execute("SELECT id FROM runs WHERE state <> ?", (State.SUCCEEDED,)).fetchall()
        return {run_id for (run_id,) in rows}

    def count(self, state: State) -> int:
        """How many runs are in a state."""
        with self._database.reading() as db:
            (number,) = db.execute("SELECT count(*) FROM runs WHERE state = ?", (state,)).fetchone()
        return int(number)

    def change(self, run_id: str, edit: Callable[[Run], Run], report: Report | None = None) -> Run:
        """Replaces a run by `edit` of it, with the next revision, and stores its report.

        Nothing is stored when `edit` returns the very run that it was given. A run that
        succeeds needs its shards no longer: they are forgotten with it.

        Raises RunNotFound, WrongState when the new state may not follow the old,
        and QueueFull when an ended run is to wait again and cannot.
        """
        with self._database.writing() as db:
            old = _read(db, run_id)
            edited = edit(old)
            if edited is old:
                return old
            new = edited.model_copy(update={"revision": old.revision + 1})
            if old.state.terminal and new.state is State.PENDING:
                self._check_room(db, new.caller)
            if new.state != old.state and new.state not in NEXT[old.state]:
                raise WrongState(
                    f"runs/{run_id} is {old.state} and cannot become {new.state}",
                    name=f"runs/{run_id}",
                    state=old.state,
                )
            db.execute(
                "UPDATE runs SET state = ?, record = ?, report = coalesce(?, report) WHERE id = ?",
                (new.state, new.model_dump_json(), report and report.model_dump_json(), run_id),
            )
            if new.state is State.SUCCEEDED:
                db.execute("DELETE FROM shards WHERE run_id = ?", (run_id,))
        self._on_change(new)
        return new

    def delete(self, run_id: str) -> None:
        """Removes an ended run, its results and its request ids.

        Raises RunNotFound, RunNotDeletable.
        """
        with self._database.writing() as db:
            run = _read(db, run_id)
            if not run.state.terminal:
                raise RunNotDeletable(
                    f"runs/{run_id} is {run.state}; cancel it first", name=f"runs/{run_id}"
                )
            db.execute("DELETE FROM requests WHERE run_id = ?", (run_id,))
            db.execute("DELETE FROM runs WHERE id = ?", (run_id,))
        self._on_change(run)

    def report(self, run_id: str) -> Report:
        """Raises RunNotFound, RunNotFinished."""
        with self._database.reading() as db:
            run = _read(db, run_id)
            (text,) = db.execute("SELECT report FROM runs WHERE id = ?", (run_id,)).fetchone()
        if run.state is not State.SUCCEEDED:
            raise RunNotFinished(
                f"runs/{run_id} is {run.state}, a report needs SUCCEEDED; "
                f"`lbclient runs show {run_id}` says more",
                name=f"runs/{run_id}",
                state=run.state,
            )
        with self._database.translated():
            return Report.model_validate_json(text)

    def replace_results(self, run_id: str, results: Iterable[QueryResult]) -> None:
        """Stores the results of a run in their order, in place of any earlier ones.

        A few at a time: neither memory nor the others that need the store may suffer
        from a run with many queries. They are readable once the run has succeeded.
        """
        with self._database.writing() as db:
            db.execute("DELETE FROM query_results WHERE run_id = ?", (run_id,))
        rows = ((run_id, n, r.subset, r.model_dump_json()) for n, r in enumerate(results))
        while batch := list(itertools.islice(rows, RESULTS_AT_ONCE)):
            with self._database.writing() as db:
                db.executemany("INSERT INTO query_results VALUES (?, ?, ?, ?)", batch)

    def results(
        self, run_id: str, subset: str, start: int, limit: int
    ) -> Sequence[tuple[int, QueryResult]]:
        """Positions from `start` on and results, at most `limit`; all subsets when empty.

        None of a run that has not succeeded. Raises RunNotFound.
        """
        with self._database.reading() as db:
            if _read(db, run_id).state is not State.SUCCEEDED:
                return []
            rows = db.execute(
                "SELECT position, record FROM query_results "
                "WHERE run_id = ? AND position >= ? AND (? = '' OR subset = ?) "
                "ORDER BY position LIMIT ?",
                (run_id, start, subset, subset, limit),
            ).fetchall()
        with self._database.translated():
            return [(position, QueryResult.model_validate_json(text)) for position, text in rows]


def _known_request(db: sqlite3.Connection, request_id: str, body_digest: str) -> Run | None:
    row = db.execute(
        "SELECT run_id, body_digest FROM requests WHERE request_id = ?", (request_id,)
    ).fetchone()
    if row is None:
        return None
    run_id, digest = row
    if digest != body_digest:
        raise RequestIdReused("request_id", "came before with another body; use a new UUID")
    return _read(db, run_id)


def _read(db: sqlite3.Connection, run_id: str) -> Run:
    row = db.execute("SELECT record FROM runs WHERE id = ?", (run_id,)).fetchone()
    if row is None:
        raise RunNotFound(f"runs/{run_id}")
    return Run.model_validate_json(row[0])


def _conditions(wanted: RunFilter) -> tuple[str, list[object]]:
    clauses, values = ["1"], list[object]()
    if wanted.benchmark:
        clauses.append("benchmark = ?")
        values.append(wanted.benchmark)
    if wanted.model:
        clauses.append("id IN (SELECT run_id FROM run_models WHERE model = ?)")
        values.append(wanted.model)
    if wanted.states:
        clauses.append(f"state IN ({', '.join('?' * len(wanted.states))})")
        values.extend(wanted.states)
    if wanted.before is not None:
        clauses.append("position < ?")
        values.append(wanted.before)
    return " AND ".join(clauses), values
