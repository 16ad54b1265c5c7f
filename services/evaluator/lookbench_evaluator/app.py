"""The composition root: everything the evaluator is made of, put together once."""

import asyncio
import signal
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import structlog

from lookbench_evaluator.benchmarks.catalog import BenchmarkCatalog
from lookbench_evaluator.models import ModelCatalog
from lookbench_evaluator.runs.database import Database
from lookbench_evaluator.runs.execution import RunExecutor
from lookbench_evaluator.runs.queue import RunQueue
from lookbench_evaluator.runs.service import RunService
from lookbench_evaluator.runs.store import RunStore
from lookbench_evaluator.runs.watch import RunWatch
from lookbench_evaluator.server import start_server
from lookbench_evaluator.servicer import Servicer
from lookbench_evaluator.settings import Settings, is_loopback
from lookbench_inference.embedders import FanOut
from lookbench_inference.triton import TritonClient

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

    Raises StoreUnavailable, PortInUse.
    """
    database = await asyncio.to_thread(Database, settings.store_dir)
    triton = TritonClient(settings.triton_url)
    workers = ThreadPoolExecutor(settings.workers, thread_name_prefix="prepare")
    try:
        async with _serving(settings, database, triton, workers) as runs:
            yield runs
    finally:
        await triton.close()
        workers.shutdown(cancel_futures=True)
        await asyncio.to_thread(database.close)


@asynccontextmanager
async def _serving(
    settings: Settings, database: Database, triton: TritonClient, workers: ThreadPoolExecutor
) -> AsyncIterator[RunService]:
    watcher = RunWatch()
    store = RunStore(database, watcher.notify)
    fan_out = FanOut(
        settings.in_flight,
        settings.request_bytes,
        settings.request_timeout_s,
        settings.max_pixels,
    )
    models = ModelCatalog(settings.model_repository, triton, fan_out, workers)
    benchmarks = BenchmarkCatalog(
        database,
        settings,
        in_use=lambda name: any(run.specification.benchmark == name for run in store.unfinished()),
    )
    await asyncio.to_thread(benchmarks.recover)
    executor = RunExecutor(store, benchmarks, models)
    queue = RunQueue(
        store,
        executor.execute,
        settings.concurrent_runs,
        settings.queue_limit,
        settings.run_timeout_s,
    )
    runs = RunService(store, queue, watcher, benchmarks, models, executor.check_versions)
    server = await start_server(settings, Servicer(runs, benchmarks, models), models)
    try:
        await queue.start()
        _announce(settings)
        yield runs
    finally:
        watcher.stop()
        await queue.stop()
        await benchmarks.stop()
        await server.stop(settings.drain_s)


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
