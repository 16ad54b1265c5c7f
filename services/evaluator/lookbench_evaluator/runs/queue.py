"""Taking runs from PENDING to an end, a bounded number at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import structlog

from lookbench_evaluator.errors import RunDeadline, RunNotFound, StoreUnavailable, WrongState
from lookbench_evaluator.runs import transitions
from lookbench_evaluator.runs.fairness import FairQueue
from lookbench_evaluator.runs.files import RunFiles
from lookbench_evaluator.runs.model import Run, State
from lookbench_evaluator.runs.results import Report
from lookbench_evaluator.runs.store import RunStore

log = structlog.get_logger()
Execute = Callable[[Run, float], Awaitable[Report]]
"""Executes a run until a deadline in event-loop time."""
STORE_RETRY_S = 1.0


class RunQueue:
    """Callers take turns, `workers` runs at a time.

    What is queued is in the store: after a restart `start` finds it again.
    """

    def __init__(
        self, store: RunStore, files: RunFiles, execute: Execute, workers: int, timeout_s: float
    ) -> None:
        self._store, self._files, self._execute = store, files, execute
        self._workers, self._timeout_s = workers, timeout_s
        self._waiting = FairQueue()
        self._executing: dict[str, asyncio.Task[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Queues what an earlier process left unfinished, then works."""
        kept = await asyncio.to_thread(self._store.resumable)
        await asyncio.to_thread(self._files.remove_others, kept)
        for run in await asyncio.to_thread(self._store.unfinished):
            if run.state is State.RUNNING:
                await asyncio.to_thread(self._store.change, run.id, transitions.queued_again)
            self.submit(run)
        self._tasks = [asyncio.create_task(self._work()) for _ in range(self._workers)]

    async def stop(self) -> None:
        """Stops working. Runs under way stay RUNNING in the store and are found by `start`."""
        for task in [*self._tasks, *self._executing.values()]:
            task.cancel()
        await asyncio.gather(*self._tasks, *self._executing.values(), return_exceptions=True)

    def submit(self, run: Run) -> None:
        """Queues a run that is PENDING in the store; harmless when it is queued already."""
        self._waiting.put(run.caller, run.id)

    async def cancel(self, run_id: str) -> Run:
        """Ends a run that has not ended and stops its requests.

        Raises RunNotFound, RunNotCancellable.
        """
        run = await asyncio.to_thread(self._store.change, run_id, transitions.cancelled)
        task = self._executing.get(run_id)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        return run

    async def _work(self) -> None:
        while True:
            caller, run_id = await self._waiting.get()
            # A cancelled execution of the same run may be winding down.
            while run_id in self._executing:
                await asyncio.wait([self._executing[run_id]])
            task = asyncio.create_task(self._process(caller, run_id))
            # Known before it begins, so that whoever cancels the run finds it.
            self._executing[run_id] = task
            task.add_done_callback(partial(self._forget, run_id))
            await asyncio.wait([task])
            self._waiting.done(caller)

    def _forget(self, run_id: str, _: asyncio.Task[None]) -> None:
        del self._executing[run_id]

    async def _process(self, caller: str, run_id: str) -> None:
        with structlog.contextvars.bound_contextvars(run_id=run_id):
            try:
                run = await asyncio.to_thread(self._store.change, run_id, transitions.started)
                await self._execute_to_an_end(run)
            except (WrongState, RunNotFound):
                log.info("not executed: cancelled, deleted or queued twice")
            except StoreUnavailable as error:
                log.error("the store is away, the run stays queued", error=error.message)
                await asyncio.sleep(STORE_RETRY_S)
                self._waiting.put(caller, run_id)
            except Exception:
                log.exception("a run was left as it is until the next start")

    async def _execute_to_an_end(self, run: Run) -> None:
        try:
            report = await self._bounded(run)
        except Exception as error:
            await self._store_end(run, transitions.failed(run, error))
            log.error("run failed", exc_info=error)
        else:
            await self._store_end(run, transitions.succeeded(run), report)
            await asyncio.to_thread(self._files.remove, run.id)
            log.info("run succeeded")

    async def _store_end(
        self, run: Run, edit: transitions.Edit, report: Report | None = None
    ) -> None:
        """Stores how a run ended, however long the store is away: its work is done."""
        while True:
            try:
                await asyncio.to_thread(self._store.change, run.id, edit, report)
            except StoreUnavailable as error:
                log.error("the store is away, the end of the run waits", error=error.message)
                await asyncio.sleep(STORE_RETRY_S)
            else:
                return

    async def _bounded(self, run: Run) -> Report:
        limit = min(run.specification.options.timeout_s or self._timeout_s, self._timeout_s)
        try:
            async with asyncio.timeout(limit) as deadline:
                return await self._execute(run, asyncio.get_running_loop().time() + limit)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise RunDeadline(
                f"runs/{run.id} took longer than its {limit:g} s; resume it, or create it "
                "with a larger timeout",
                name=f"runs/{run.id}",
                timeout_s=limit,
            ) from None
