"""The imported benchmarks of one store, and imports under way."""

import asyncio
import shutil
import sqlite3
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from enum import StrEnum

import structlog
from pydantic import BaseModel, ConfigDict

from lookbench_core.benchmark import BenchmarkManifest
from lookbench_core.ids import is_resource_id
from lookbench_evaluator.benchmarks.importer import import_benchmark
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.benchmarks.paths import confine
from lookbench_evaluator.benchmarks.readers import open_source
from lookbench_evaluator.benchmarks.source import Source
from lookbench_evaluator.benchmarks.staging import remove_leftovers
from lookbench_evaluator.errors import (
    BenchmarkAlreadyExists,
    BenchmarkInUse,
    BenchmarkNotFound,
    BenchmarkNotReady,
    ImportInterrupted,
    InvalidField,
    StoreCorrupted,
    StoreUnavailable,
)
from lookbench_evaluator.failures import failure_of
from lookbench_evaluator.runs.database import Database
from lookbench_evaluator.runs.model import Failure
from lookbench_evaluator.settings import Settings

log = structlog.get_logger()
PROGRESS_ROWS = 500
STORE_RETRY_S = 1.0


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
    rejected_reasons: dict[str, int] = {}
    failure: Failure | None = None
    manifest: BenchmarkManifest | None = None
    previous: "BenchmarkRecord | None" = None
    """The benchmark that this import replaces; kept until the import succeeds."""

    def same_source(self, other: "BenchmarkRecord") -> bool:
        """Whether both were made from the same files in the same way."""
        return (self.format, self.path, self.options) == (other.format, other.path, other.options)

    def having(self, **changes: object) -> "BenchmarkRecord":
        """A copy with some fields changed."""
        return self.model_copy(update=changes)


class BenchmarkCatalog:
    """Imports, lists and opens benchmarks. Blocking, but for `start_import` and `stop`."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        in_use: Callable[[str], bool],
        threads: Executor,
    ) -> None:
        self._database, self._settings, self._in_use = database, settings, in_use
        self._threads = threads
        self._root = settings.store_dir / "benchmarks"
        self._imports: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()
        self._stopping = False

    def recover(self) -> None:
        """Ends imports that an earlier process did not finish, and clears what they left."""
        for record in self.all():
            if record.state is ImportState.IMPORTING:
                self._give_up(
                    record,
                    ImportInterrupted(
                        f"the evaluator stopped while benchmarks/{record.id} was imported; "
                        "import it again"
                    ),
                )
        remove_leftovers(self._root)
        known = {record.folder for record in self.all()}
        for folder in self._root.glob("*/"):
            if folder.name not in known:
                shutil.rmtree(folder, ignore_errors=True)

    def all(self) -> list[BenchmarkRecord]:
        """All records, by id."""
        with self._database.reading() as db:
            rows = db.execute("SELECT record FROM benchmarks ORDER BY id").fetchall()
        return [self._parsed(text) for (text,) in rows]

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
        """Stores the benchmark in IMPORTING and begins, or waits for earlier imports.

        The same source under the same id is returned as it is. Raises
        InvalidField, PathOutsideRoot, SourceNotFound, BenchmarkAlreadyExists,
        BenchmarkInUse while unfinished runs use the benchmark.
        """
        if not is_resource_id(benchmark_id):
            raise InvalidField(
                "benchmark_id", f"{benchmark_id!r} is not lower-case letters, digits, hyphens"
            )
        folder = await asyncio.to_thread(confine, path, self._settings.data_roots)
        source = await asyncio.to_thread(open_source, source_format, folder, options)
        wanted = BenchmarkRecord(
            id=benchmark_id,
            state=ImportState.IMPORTING,
            format=source_format,
            path=str(folder),
            options=dict(options),
            folder=f"{benchmark_id}-{uuid.uuid4().hex[:12]}",
        )
        async with self._starting:  # two imports of one id must not both find it free
            record, is_new = await asyncio.to_thread(self._claim, wanted, replace)
        if is_new:
            task = asyncio.create_task(self._import(record, source))
            self._imports.add(task)
            task.add_done_callback(self._imports.discard)
        return record

    async def stop(self) -> None:
        """Abandons imports under way; `recover` ends them at the next start."""
        self._stopping = True
        await asyncio.gather(*self._imports, return_exceptions=True)

    def _claim(self, wanted: BenchmarkRecord, replace: bool) -> tuple[BenchmarkRecord, bool]:
        """Stores the record, unless the benchmark is there already; and whether it did."""
        old = self._find(wanted.id)
        if old is not None and old.state is not ImportState.FAILED:
            if old.same_source(wanted) and (not replace or old.state is ImportState.IMPORTING):
                return old, False
            self._check_replaceable(old, replace)
            wanted = wanted.having(previous=old)
        self._put(wanted)
        return wanted, True

    def _check_replaceable(self, old: BenchmarkRecord, replace: bool) -> None:
        name = f"benchmarks/{old.id}"
        if not replace:
            raise BenchmarkAlreadyExists(
                name,
                "it has another source or options; choose another id, or allow replacing it "
                "(`--replace`)",
            )
        if old.state is ImportState.IMPORTING or self._in_use(old.id):
            raise BenchmarkInUse(
                f"{name} is in use by an import or an unfinished run; wait or cancel that",
                name=name,
            )

    async def _import(self, record: BenchmarkRecord, source: Source) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._threads, self._run_import, record, source)
        except _Stopped:
            return
        except Exception as error:
            log.error("import failed", benchmark=record.id, exc_info=error)
            await self._keep_failure(record, error)
        else:
            log.info("imported", benchmark=record.id)

    async def _keep_failure(self, record: BenchmarkRecord, error: Exception) -> None:
        """Stores why an import failed, however long the store is away: the disk may be full."""
        while not self._stopping:
            try:
                await asyncio.to_thread(self._give_up, record, error)
                return
            except StoreUnavailable as away:
                log.error("the store is away, the end of the import waits", error=away.message)
                await asyncio.sleep(STORE_RETRY_S)
            except StoreCorrupted as damage:
                log.error("the end of an import cannot be stored", error=damage.message)
                return

    def _run_import(self, record: BenchmarkRecord, source: Source) -> None:
        told = 0

        def on_progress(rows: int) -> None:
            nonlocal told
            if self._stopping:
                raise _Stopped
            if rows - told >= PROGRESS_ROWS:
                told = rows
                self._put(record.having(imported_rows=rows))

        target = self._root / record.folder
        manifest = import_benchmark(
            source,
            record.id,
            target,
            workers=self._settings.workers,
            max_pixels=self._settings.max_pixels,
            on_progress=on_progress,
        )
        stored = StoredBenchmark.open(target)
        self._put(
            record.having(
                state=ImportState.READY,
                manifest=manifest,
                duplicate_group_count=len(stored.duplicates()),
                rejected_reasons=Counter(row.reason for row in stored.rejected()),
                imported_rows=sum(c.rows_in for c in manifest.collections),
                previous=None,
            )
        )
        if record.previous is not None:
            shutil.rmtree(self._root / record.previous.folder, ignore_errors=True)

    def _give_up(self, record: BenchmarkRecord, error: Exception) -> None:
        """The benchmark that was to be replaced stays; without one the failure is kept."""
        failure = failure_of(error)
        shutil.rmtree(self._root / record.folder, ignore_errors=True)
        if record.previous is not None:
            self._put(record.previous.having(failure=failure))
        else:
            self._put(record.having(state=ImportState.FAILED, failure=failure))

    def _find(self, benchmark_id: str) -> BenchmarkRecord | None:
        with self._database.reading() as db:
            row: sqlite3.Row | None = db.execute(
                "SELECT record FROM benchmarks WHERE id = ?", (benchmark_id,)
            ).fetchone()
        return None if row is None else self._parsed(row[0])

    def _parsed(self, text: str) -> BenchmarkRecord:
        with self._database.translated():
            return BenchmarkRecord.model_validate_json(text)

    def _put(self, record: BenchmarkRecord) -> None:
        with self._database.writing() as db:
            db.execute(
                "INSERT INTO benchmarks VALUES (?, ?) "
                "ON CONFLICT (id) DO UPDATE SET record = excluded.record",
                (record.id, record.model_dump_json()),
            )


class _Stopped(Exception):
    """The evaluator is shutting down."""
