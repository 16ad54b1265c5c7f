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
from lookbench_evaluator.errors import InvalidField
from lookbench_evaluator.models import ModelCatalog
from lookbench_evaluator.runs.files import RunFiles
from lookbench_evaluator.runs.model import Dense, Run, Specification, State, System
from lookbench_evaluator.runs.queue import RunQueue
from lookbench_evaluator.runs.results import QueryResult, Report
from lookbench_evaluator.runs.store import RunFilter, RunStore
from lookbench_evaluator.runs.transitions import now, resumed
from lookbench_evaluator.runs.watch import RunWatch
from lookbench_evaluator.tasks.plan import check_rejected, check_spaces, plan

RECONNECT_S = 3.0
"""A Triton that was just started is found again within so long."""


@dataclass(frozen=True)
class RunService:
    """Creates, reads, follows and ends runs."""

    store: RunStore
    queue: RunQueue
    watcher: RunWatch
    benchmarks: BenchmarkCatalog
    models: ModelCatalog
    files: RunFiles
    check_versions: Callable[[Run], Awaitable[None]]

    async def create(
        self, spec: Specification, run_id: str, request_id: str, caller: str = ""
    ) -> Run:
        """Stores a run in PENDING and queues it.

        The same request gets the same run, whatever has changed since. Raises
        what makes a run impossible to start: unknown names, a model that is not
        served, options that the benchmark does not have, a full queue.
        """
        if run_id and not is_resource_id(run_id):
            raise InvalidField("run_id", f"{run_id!r} is not lower-case letters, digits, hyphens")
        request = _normalised_request_id(request_id)
        body = data_digest([run_id, spec.model_dump(mode="json")])
        kept = await asyncio.to_thread(self.store.known_request, request, body)
        if kept is None:
            run = Run(
                id=run_id or f"run-{uuid.uuid4().hex[:12]}",
                specification=await self._complete(spec),
                caller=caller,
                created=now(),
            )
            kept = await asyncio.to_thread(self.store.create, run, request, body, time.time())
        if kept.state is State.PENDING:
            self.queue.submit(kept)
        return kept

    async def _complete(self, spec: Specification) -> Specification:
        """The specification with every default filled in, found fit to start."""
        stored = await asyncio.to_thread(self.benchmarks.open, spec.benchmark)
        planned = plan(stored.manifest, spec)
        check_rejected(stored.manifest, planned)
        system = await self._completed(spec.system, stored.manifest)
        check_spaces(system)
        return planned.model_copy(update={"system": system})

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
        before = await self.get(run_id)
        resumed(before)  # the state is told first, the versions second
        await self.models.patiently(lambda: self.check_versions(before), RECONNECT_S)
        run = await asyncio.to_thread(self.store.change, run_id, resumed)
        self.queue.submit(run)
        return run

    async def delete(self, run_id: str) -> None:
        """Raises RunNotFound, RunNotDeletable."""
        await asyncio.to_thread(self.store.delete, run_id)
        await asyncio.to_thread(self.files.remove, run_id)

    async def report(self, run_id: str) -> tuple[Run, Report]:
        """Raises RunNotFound, RunNotFinished."""
        report = await asyncio.to_thread(self.store.report, run_id)
        return await self.get(run_id), report

    async def results(
        self, run_id: str, subset: str, start: int, limit: int
    ) -> Sequence[tuple[int, QueryResult]]:
        """Raises RunNotFound."""
        return await asyncio.to_thread(self.store.results, run_id, subset, start, limit)


def _normalised_request_id(request_id: str) -> str:
    if not request_id:
        return ""
    try:
        parsed = uuid.UUID(request_id)
    except ValueError:
        parsed = None
    if parsed is None or parsed.version != 4:
        raise InvalidField("request_id", f"{request_id!r} is not a UUID of version 4")
    return str(parsed)
