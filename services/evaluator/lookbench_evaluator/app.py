"""The composition root: everything the evaluator is made of, put together once."""

import asyncio
import signal
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from lookbench_evaluator.benchmarks.catalog import BenchmarkCatalog
from lookbench_evaluator.models import ModelCatalog
from lookbench_evaluator.runs.database import Database
from lookbench_evaluator.runs.execution import RunExecutor
from lookbench_evaluator.runs.files import RunFiles
from lookbench_evaluator.runs.queue import RunQueue
from lookbench_evaluator.runs.service import RunService
from lookbench_evaluator.runs.shards import ShardLedger
from lookbench_evaluator.runs.store import PendingLimit, RunStore
from lookbench_evaluator.runs.watch import RunWatch
from lookbench_evaluator.server import start_server
from lookbench_evaluator.servicer import Servicer
from lookbench_evaluator.settings import Settings, is_loopback
from lookbench_inference.cache import EmbeddingCache
from lookbench_inference.embedders import FanOut
from lookbench_inference.endpoints import TritonEndpoints, connect
from lookbench_inference.retries import RetryPolicy

log = structlog.get_logger()


async def serve(settings: Settings) -> None:
    """Serves until SIGTERM or SIGINT, then stops in order."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with running(settings):
        await stopping.wait()
        log.info("stopping")


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[RunService]:
    """A started evaluator; leaving the context stops it.

    Raises StoreUnavailable, StoreCorrupted, PortInUse.
    """
    database = await asyncio.to_thread(Database, settings.store_dir)
    triton = connect(
        settings.triton_url,
        RetryPolicy(settings.triton_patience_s),
        shared_memory=settings.shared_memory,
        region_bytes=settings.request_bytes,
        most_regions=2 * settings.in_flight,  # a run may use two models
    )
    pools = Pools.of(settings)
    try:
        async with _serving(settings, database, triton, pools) as runs:
            yield runs
    finally:
        await triton.close()
        pools.shutdown()
        await asyncio.to_thread(database.close)


@dataclass(frozen=True)
class Pools:
    """Threads by the kind of work, so that no kind keeps another waiting.

    prepare: decoding and tokenising. rank: one run each. imports: one at a time.
    Short calls to the store have asyncio's own threads to themselves.
    """

    prepare: ThreadPoolExecutor
    rank: ThreadPoolExecutor
    imports: ThreadPoolExecutor

    @classmethod
    def of(cls, settings: Settings) -> "Pools":
        """The sizes that the settings ask for."""
        return cls(
            ThreadPoolExecutor(settings.workers, "prepare"),
            ThreadPoolExecutor(settings.concurrent_runs, "rank"),
            ThreadPoolExecutor(1, "import"),
        )

    def shutdown(self) -> None:
        """Ends the threads; what has not begun is dropped."""
        for pool in (self.prepare, self.rank, self.imports):
            pool.shutdown(cancel_futures=True)


@asynccontextmanager
async def _serving(
    settings: Settings, database: Database, triton: TritonEndpoints, pools: Pools
) -> AsyncIterator[RunService]:
    watcher = RunWatch()
    limit = PendingLimit(settings.queue_limit, settings.caller_queue_limit)
    store = RunStore(database, watcher.notify, limit)
    files = RunFiles(settings.store_dir / "runs")
    fan_out = FanOut(
        in_flight=settings.in_flight,
        # One for each request that may end together, one for each worker's hands.
        ahead=settings.in_flight + settings.workers,
        request_bytes=settings.request_bytes,
        request_timeout_s=settings.request_timeout_s,
        max_pixels=settings.max_pixels,
    )
    models = ModelCatalog(
        settings.model_repository,
        triton,
        fan_out,
        pools.prepare,
        self_check=settings.self_check,
    )
    benchmarks = BenchmarkCatalog(database, settings, store.uses_benchmark, pools.imports)
    await asyncio.to_thread(benchmarks.recover)
    cache = EmbeddingCache(settings.cache_folder, settings.cache_bytes)
    executor = RunExecutor(
        store,
        ShardLedger(database),
        files,
        cache,
        benchmarks,
        models,
        pools.rank,
        settings.triton_patience_s,
        settings.shard_rows,
    )
    queue = RunQueue(
        store, files, executor.execute, settings.concurrent_runs, settings.run_timeout_s
    )
    runs = RunService(store, queue, watcher, benchmarks, models, files, executor.check_versions)
    servicer = Servicer(runs, benchmarks, models, cache)
    server = await start_server(settings, servicer, models, database.check_in_place)
    try:
        await queue.start()
        _announce(settings)
        yield runs
    finally:
        await server.announce_stop()
        watcher.stop()
        await server.stop(settings.drain_s)
        await queue.stop()
        await benchmarks.stop()
        await asyncio.to_thread(cache.close)


def _announce(settings: Settings) -> None:
    log.info(
        "serving",
        host=settings.host,
        port=settings.port,
        triton=settings.triton_url,
        store=str(settings.store_dir),
    )
    if not is_loopback(settings.host):
        log.warning("insecure: anybody who reaches this port may start and delete runs")
