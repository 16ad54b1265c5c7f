"""One run from its specification to its report."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeVar

from lookbench_core.digests import data_digest
from lookbench_evaluator.benchmarks.catalog import BenchmarkCatalog
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.errors import PinnedVersionGone, RunNotFound
from lookbench_evaluator.models import ModelCatalog
from lookbench_evaluator.reports.report import make_report
from lookbench_evaluator.runs.files import RunFiles
from lookbench_evaluator.runs.model import Encoder, Pinned, Run, Stage, State
from lookbench_evaluator.runs.progress import Tracker
from lookbench_evaluator.runs.results import Report
from lookbench_evaluator.runs.shards import ShardLedger
from lookbench_evaluator.runs.store import RunStore
from lookbench_evaluator.runs.workspace import Workspace
from lookbench_evaluator.tasks.dense_retrieval import DenseRetrieval, Evaluated
from lookbench_evaluator.tasks.plan import check_rejected
from lookbench_inference.cache import EmbeddingCache
from lookbench_inference.ports import Embedder

PUBLISH_INTERVAL_S = 0.5
T = TypeVar("T")


@dataclass(frozen=True)
class RunExecutor:
    """Executes runs; what a run is made of stays in the store.

    patience_s: how long a run waits for Triton and its models before it fails; both
    may be starting, as after a restart of the whole stack.
    threads: for ranking and scoring, which would keep short calls waiting in the
    threads of the event loop.
    """

    store: RunStore
    ledger: ShardLedger
    files: RunFiles
    cache: EmbeddingCache
    benchmarks: BenchmarkCatalog
    models: ModelCatalog
    threads: Executor
    patience_s: float
    shard_rows: int

    async def execute(self, run: Run, deadline: float) -> Report:
        """Embeds, ranks, scores and stores, until `deadline` in event-loop time.

        Raises what makes the run fail; what was embedded until then stays for a resume.
        """
        spec = run.specification
        stored = await asyncio.to_thread(self.benchmarks.open, spec.benchmark)
        check_rejected(stored.manifest, spec)
        pinned = await self._patiently(lambda: self._pin(run, stored))
        tracker = Tracker(rejected=sum(c.rows_rejected for c in stored.manifest.collections))
        async with self._publishing(run.id, tracker):
            task = DenseRetrieval(
                stored,
                spec,
                await self._opened(spec.system.dense.query_encoder, deadline),
                await self._opened(spec.system.dense.item_encoder, deadline),
                await asyncio.to_thread(self._workspace, run),
                tracker,
                self.threads,
            )
            evaluated = await task.evaluate()
            # Nothing was swapped while it was asked, or the numbers belong to nobody.
            await self._patiently(lambda: self.check_versions(pinned))
            tracker.enter(Stage.SCORING)
            return await asyncio.get_running_loop().run_in_executor(
                self.threads, self._keep, run, stored, evaluated
            )

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        return await self.models.patiently(ask, self.patience_s)

    async def _opened(self, encoder: Encoder, deadline: float) -> Embedder:
        return await self._patiently(lambda: self.models.open(encoder, deadline))

    def _workspace(self, run: Run) -> Workspace:
        folder = self.files.folder(run.id)
        return Workspace(run.id, folder, self.ledger, self.cache, self.shard_rows)

    def _keep(self, run: Run, stored: StoredBenchmark, evaluated: Evaluated) -> Report:
        results = (result for subset in evaluated.subsets for result in subset.results())
        self.store.replace_results(run.id, results)
        return make_report(run.specification, stored, evaluated)

    async def _pin(self, run: Run, stored: StoredBenchmark) -> Run:
        """The run with the versions that it must not leave."""
        pinned = await self.pins(run, stored)
        check_pins(run, pinned)
        return await asyncio.to_thread(
            self.store.change, run.id, lambda r: r.model_copy(update={"pinned": pinned})
        )

    async def check_versions(self, run: Run) -> None:
        """Raises PinnedVersionGone when the run cannot go on as it began."""
        stored = await asyncio.to_thread(self.benchmarks.open, run.specification.benchmark)
        check_pins(run, await self.pins(run, stored))

    async def pins(self, run: Run, stored: StoredBenchmark) -> Pinned:
        """The versions that the run would use now."""
        spec = run.specification
        return Pinned(
            benchmark_digest=stored.manifest.digest,
            specification_digest=data_digest(spec.model_dump(mode="json")),
            models=tuple([await self.models.pin(name) for name in spec.system.models]),
        )

    @contextlib.asynccontextmanager
    async def _publishing(self, run_id: str, tracker: Tracker) -> AsyncIterator[None]:
        publisher = asyncio.create_task(self._publish(run_id, tracker))
        try:
            yield
        finally:
            publisher.cancel()
            await asyncio.gather(publisher, return_exceptions=True)
            with contextlib.suppress(RunNotFound):
                await asyncio.to_thread(self._store_progress, run_id, tracker)

    async def _publish(self, run_id: str, tracker: Tracker) -> None:
        told = None
        while True:
            progress = tracker.progress
            if told != (progress.stage, progress.done):
                told = progress.stage, progress.done
                await asyncio.to_thread(self._store_progress, run_id, tracker)
            await asyncio.sleep(PUBLISH_INTERVAL_S)

    def _store_progress(self, run_id: str, tracker: Tracker) -> None:
        progress = tracker.progress
        self.store.change(
            run_id,
            lambda run: (
                run.model_copy(update={"progress": progress}) if run.state is State.RUNNING else run
            ),
        )


def check_pins(run: Run, found: Pinned) -> None:
    """Raises PinnedVersionGone when a benchmark or model changed since the run began."""
    if run.pinned is None or run.pinned == found:
        return
    changed = [
        f"models/{old.model}"
        for old, new in zip(run.pinned.models, found.models, strict=True)
        if old != new
    ]
    if run.pinned.benchmark_digest != found.benchmark_digest:
        changed.append(f"benchmarks/{run.specification.benchmark}")
    names = ", ".join(changed) or "the specification"
    raise PinnedVersionGone(
        f"runs/{run.id} began with another version of {names}; create a new run",
        name=f"runs/{run.id}",
        changed=names,
    )
