"""The imported benchmarks of one store, and imports under way."""

import asyncio
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import structlog
from pydantic import BaseModel, ConfigDict

from lookbench_core.benchmark import BenchmarkManifest
from lookbench_core.ids import is_resource_id
from lookbench_evaluator.benchmarks.importer import import_benchmark
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.benchmarks.paths import confine
from lookbench_evaluator.benchmarks.readers import open_source
from lookbench_evaluator.benchmarks.staging import remove_leftovers
from lookbench_evaluator.errors import (
    BenchmarkAlreadyExists,
    BenchmarkInUse,
    BenchmarkNotFound,
    BenchmarkNotReady,
    InvalidField,
)
from lookbench_evaluator.failures import failure_of
from lookbench_evaluator.runs.database import Database
from lookbench_evaluator.runs.model import Failure
from lookbench_evaluator.settings import Settings

log = structlog.get_logger()
PROGRESS_ROWS = 500


class ImportState(StrEnum):
    """IMPORTING → READY | FAILED."""

    IMPORTING = "IMPORTING"
    READY = "READY"
    FAILED = "FAILED"


class BenchmarkRecord(BaseModel):
    """A benchmark as the store knows it. `folder` is below the benchmarks folder."""

    model_config = ConfigDict(frozen=True)

    id: str
    state: ImportState
    format: str
    path: str
    options: dict[str, str]
    folder: str
    imported_rows: int = 0
    duplicate_group_count: int = 0
    failure: Failure | None = None
    manifest: BenchmarkManifest | None = None

    def same_source(self, other: "BenchmarkRecord") -> bool:
        """Whether both were made from the same files in the same way."""
        return (self.format, self.path, self.options) == (other.format, other.path, other.options)


class BenchmarkCatalog:
    """Imports, lists and opens benchmarks. Blocking, but for `start_import` and `stop`."""

    def __init__(
        self, database: Database, settings: Settings, in_use: Callable[[str], bool]
    ) -> None:
        self._database, self._settings, self._in_use = database, settings, in_use
        self._root = settings.store_dir / "benchmarks"
        self._imports: dict[str, asyncio.Task[None]] = {}
        self._stopping = False

    def recover(self) -> None:
        """Marks imports that an earlier process did not finish as failed, and clears up."""
        remove_leftovers(self._root)
        for record in self.all():
            if record.state is ImportState.IMPORTING:
                lost = BenchmarkNotReady(
                    f"the evaluator stopped while benchmarks/{record.id} was imported; "
                    "import it again"
                )
                self._put(
                    record.model_copy(
                        update={"state": ImportState.FAILED, "failure": failure_of(lost)}
                    )
                )

    def all(self) -> list[BenchmarkRecord]:
        """All records, by id."""
        with self._database.reading() as db:
            rows = db.execute("SELECT record FROM benchmarks ORDER BY id").fetchall()
        return [BenchmarkRecord.model_validate_json(text) for (text,) in rows]

    def get(self, benchmark_id: str) -> BenchmarkRecord:
        """Raises BenchmarkNotFound."""
        record = self._find(benchmark_id)
        if record is None:
            raise BenchmarkNotFound(f"benchmarks/{benchmark_id}")
        return record

    def open(self, benchmark_id: str) -> StoredBenchmark:
        """Raises BenchmarkNotFound, BenchmarkNotReady, BenchmarkInvalid."""
        record = self.get(benchmark_id)
        if record.state is not ImportState.READY:
            why = f": {record.failure.message}" if record.failure else ""
            raise BenchmarkNotReady(
                f"benchmarks/{benchmark_id} is {record.state}{why}",
                name=f"benchmarks/{benchmark_id}",
                state=record.state,
            )
        return StoredBenchmark.open(self._root / record.folder)

    async def start_import(
        self,
        benchmark_id: str,
        source_format: str,
        path: str,
        options: Mapping[str, str],
        replace: bool,
    ) -> BenchmarkRecord:
        """Stores the benchmark in IMPORTING and begins.

        The same source under the same id is returned as it is. Raises
        InvalidField, PathOutsideRoot, SourceNotFound, BenchmarkAlreadyExists,
        BenchmarkInUse while unfinished runs use the benchmark.
        """
        if not is_resource_id(benchmark_id):
            raise InvalidField(
                "benchmark_id", f"{benchmark_id!r} is not lower-case letters, digits, hyphens"
            )
        folder = await asyncio.to_thread(confine, path, self._settings.data_roots)
        wanted = BenchmarkRecord(
            id=benchmark_id,
            state=ImportState.IMPORTING,
            format=source_format,
            path=str(folder),
            options=dict(options),
            folder=f"{benchmark_id}-{uuid.uuid4().hex[:12]}",
        )
        source = await asyncio.to_thread(open_source, source_format, folder, options)
        old = await asyncio.to_thread(self._find, benchmark_id)
        if old is not None and self._keeps(old, wanted, replace):
            return old
        await asyncio.to_thread(self._put, wanted)
        task = asyncio.create_task(self._import(wanted, source, old))
        self._imports[benchmark_id] = task
        task.add_done_callback(lambda _: self._imports.pop(benchmark_id, None))
        return wanted

    async def stop(self) -> None:
        """Abandons imports under way; `recover` marks them at the next start."""
        self._stopping = True
        await asyncio.gather(*self._imports.values(), return_exceptions=True)

    def _keeps(self, old: BenchmarkRecord, wanted: BenchmarkRecord, replace: bool) -> bool:
        """Whether the old benchmark answers the request. Raises when it is in the way."""
        if old.state is ImportState.FAILED:
            return False
        if old.same_source(wanted) and (not replace or old.state is ImportState.IMPORTING):
            return True
        name = f"benchmarks/{old.id}"
        if not replace:
            raise BenchmarkAlreadyExists(
                name, "it has another source or options; choose another id, or allow replacing it"
            )
        if old.state is ImportState.IMPORTING or self._in_use(old.id):
            raise BenchmarkInUse(
                f"{name} is in use by an import or an unfinished run; wait or cancel that",
                name=name,
            )
        return False

    async def _import(
        self, record: BenchmarkRecord, source: Any, old: BenchmarkRecord | None
    ) -> None:
        try:
            manifest, groups = await asyncio.to_thread(self._run_import, record, source)
            done = record.model_copy(
                update={
                    "state": ImportState.READY,
                    "manifest": manifest,
                    "duplicate_group_count": groups,
                    "imported_rows": sum(c.rows_in for c in manifest.collections),
                }
            )
            await asyncio.to_thread(self._put, done)
        except _Stopped:
            return
        except Exception as error:
            log.error("import failed", benchmark=record.id, exc_info=error)
            failed = {"state": ImportState.FAILED, "failure": failure_of(error)}
            await asyncio.to_thread(self._put, record.model_copy(update=failed))
        else:
            log.info("imported", benchmark=record.id, digest=manifest.digest)
            if old is not None:
                await asyncio.to_thread(shutil.rmtree, self._root / old.folder, ignore_errors=True)

    def _run_import(self, record: BenchmarkRecord, source: Any) -> tuple[BenchmarkManifest, int]:
        told = 0

        def on_progress(rows: int) -> None:
            nonlocal told
            if self._stopping:
                raise _Stopped
            if rows - told >= PROGRESS_ROWS:
                told = rows
                self._put(record.model_copy(update={"imported_rows": rows}))

        target = self._root / record.folder
        manifest = import_benchmark(
            source,
            record.id,
            target,
            workers=self._settings.workers,
            max_pixels=self._settings.max_pixels,
            on_progress=on_progress,
        )
        return manifest, len(StoredBenchmark.open(target).duplicates())

    def _find(self, benchmark_id: str) -> BenchmarkRecord | None:
        with self._database.reading() as db:
            row: sqlite3.Row | None = db.execute(
                "SELECT record FROM benchmarks WHERE id = ?", (benchmark_id,)
            ).fetchone()
        return None if row is None else BenchmarkRecord.model_validate_json(row[0])

    def _put(self, record: BenchmarkRecord) -> None:
        with self._database.writing() as db:
            db.execute(
                "INSERT INTO benchmarks VALUES (?, ?) "
                "ON CONFLICT (id) DO UPDATE SET record = excluded.record",
                (record.id, record.model_dump_json()),
            )


class _Stopped(Exception):
    """The evaluator is shutting down."""
