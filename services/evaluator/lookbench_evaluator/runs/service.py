"""What callers may do with runs. Checks before a run is stored, so that it can start."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from lookbench_core.benchmark import BenchmarkManifest
from lookbench_core.digests import data_digest
from lookbench_core.ids import is_resource_id
from lookbench_evaluator.benchmarks.catalog import BenchmarkCatalog
from lookbench_evaluator.errors import (
    InvalidField,
    RunNotDeletable,
)
from lookbench_evaluator.models import ModelCatalog
from lookbench_evaluator.runs.model import Dense, Run, Specification, System
from lookbench_evaluator.runs.queue import RunQueue, now, resumed
from lookbench_evaluator.runs.results import QueryResult, Report
from lookbench_evaluator.runs.store import RunFilter, RunStore
from lookbench_evaluator.runs.watch import RunWatch
from lookbench_evaluator.tasks.plan import plan


@dataclass(frozen=True)
class RunService:
    """Creates, reads, follows and ends runs."""

    store: RunStore
    queue: RunQueue
    watcher: RunWatch
    benchmarks: BenchmarkCatalog
    models: ModelCatalog
    check_versions: Callable[[Run], Awaitable[None]]

    async def create(self, spec: Specification, run_id: str, request_id: str) -> Run:
        """Stores a run in PENDING and queues it.

        Raises what makes it impossible to start: unknown names, a model that is
        not served, options that the benchmark does not have, a full queue.
        """
        if run_id and not is_resource_id(run_id):
            raise InvalidField("run_id", f"{run_id!r} is not lower-case letters, digits, hyphens")
        _check_request_id(request_id)
        stored = await asyncio.to_thread(self.benchmarks.open, spec.benchmark)
        complete = plan(stored.manifest, spec).model_copy(
            update={"system": await self._completed(spec.system, stored.manifest)}
        )
        self.queue.check_room()
        run = Run(
            id=run_id or f"run-{uuid.uuid4().hex[:12]}", specification=complete, created=now()
        )
        body = data_digest([run_id, spec.model_dump(mode="json")])
        kept = await asyncio.to_thread(self.store.create, run, request_id, body, time.time())
        if kept.id == run.id:
            self.queue.submit(run.id)
        return kept

    async def _completed(self, system: System, benchmark: BenchmarkManifest) -> System:
        dense, completed = system.dense, self.models.completed
        return System(
            dense=Dense(
                query_encoder=await completed(
                    dense.query_encoder, "query", benchmark.query_modality
                ),
                item_encoder=await completed(
                    dense.item_encoder, "document", benchmark.item_modality
                ),
            )
        )

    async def get(self, run_id: str) -> Run:
        """Raises RunNotFound."""
        return await asyncio.to_thread(self.store.get, run_id)

    async def list(self, wanted: RunFilter, limit: int) -> Sequence[tuple[int, Run]]:
        """Positions and runs, newest first."""
        return await asyncio.to_thread(self.store.list, wanted, limit)

    def watch(self, run_id: str) -> AsyncIterator[Run]:
        """Snapshot first, then changes. Raises RunNotFound."""
        return self.watcher.follow(run_id, self.store.get)

    async def cancel(self, run_id: str) -> Run:
        """Raises RunNotFound, RunNotCancellable."""
        return await self.queue.cancel(run_id)

    async def resume(self, run_id: str) -> Run:
        """Raises RunNotFound, RunNotResumable, PinnedVersionGone, QueueFull."""
        self.queue.check_room()
        before = await self.get(run_id)
        resumed(before)  # the state is told first, the versions second
        await self.check_versions(before)
        run = await asyncio.to_thread(self.store.change, run_id, resumed)
        self.queue.submit(run_id)
        return run

    async def delete(self, run_id: str) -> None:
        """Raises RunNotFound, RunNotDeletable."""
        run = await self.get(run_id)
        if not run.state.terminal:
            raise RunNotDeletable(
                f"runs/{run_id} is {run.state}; cancel it first", name=f"runs/{run_id}"
            )
        await asyncio.to_thread(self.store.delete, run_id)

    async def report(self, run_id: str) -> tuple[Run, Report]:
        """Raises RunNotFound, RunNotFinished."""
        report = await asyncio.to_thread(self.store.report, run_id)
        return await self.get(run_id), report

    async def results(
        self, run_id: str, subset: str, start: int, limit: int
    ) -> Sequence[tuple[int, QueryResult]]:
        """Raises RunNotFound."""
        return await asyncio.to_thread(self.store.results, run_id, subset, start, limit)


def _check_request_id(request_id: str) -> None:
    if not request_id:
        return
    try:
        uuid.UUID(request_id)
    except ValueError:
        raise InvalidField("request_id", f"{request_id!r} is not a UUID") from None
