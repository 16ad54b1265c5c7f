"""Taking runs from PENDING to an end, a bounded number at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import structlog

from lookbench_evaluator.errors import (
    QueueFull,
    RunDeadline,
    RunNotCancellable,
    RunNotFound,
    RunNotResumable,
    WrongState,
)
from lookbench_evaluator.failures import failure_of
from lookbench_evaluator.runs.model import Progress, Run, Stage, State
from lookbench_evaluator.runs.results import Report
from lookbench_evaluator.runs.store import RunStore

log = structlog.get_logger()
Execute = Callable[[Run], Awaitable[Report]]


def now() -> datetime:
    """The time that is stored with runs."""
    return datetime.now(UTC)


class RunQueue:
    """First come, first served, by `workers` tasks.

    What is queued is in the store: after a restart `start` finds it again.
    """

    def __init__(
        self, store: RunStore, execute: Execute, workers: int, limit: int, timeout_s: float
    ) -> None:
        self._store, self._execute = store, execute
        self._workers, self._limit, self._timeout_s = workers, limit, timeout_s
        self._waiting: asyncio.Queue[str] = asyncio.Queue()
        self._executing: dict[str, asyncio.Task[Report]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Queues what an earlier process left unfinished, then works."""
        for run in await asyncio.to_thread(self._store.unfinished):
            if run.state is State.RUNNING:
                await asyncio.to_thread(self._store.change, run.id, _waiting_again)
            self._waiting.put_nowait(run.id)
        self._tasks = [asyncio.create_task(self._work()) for _ in range(self._workers)]

    async def stop(self) -> None:
        """Stops working. Runs under way stay RUNNING in the store and are found by `start`."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def check_room(self) -> None:
        """Raises QueueFull when no further run may wait."""
        if self._waiting.qsize() >= self._limit:
            raise QueueFull(
                f"{self._limit} runs wait already; try again when some have ended",
                limit=self._limit,
            )

    def submit(self, run_id: str) -> None:
        """Queues a run that is PENDING in the store."""
        self._waiting.put_nowait(run_id)

    async def cancel(self, run_id: str) -> Run:
        """Ends a run that has not ended and stops its requests.

        Raises RunNotFound, RunNotCancellable.
        """
        run = await asyncio.to_thread(self._store.change, run_id, _cancelled)
        task = self._executing.get(run_id)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        return run

    async def _work(self) -> None:
        while True:
            run_id = await self._waiting.get()
            with structlog.contextvars.bound_contextvars(run_id=run_id):
                await self._process(run_id)

    async def _process(self, run_id: str) -> None:
        try:
            run = await asyncio.to_thread(self._store.change, run_id, _started)
        except (WrongState, RunNotFound):
            return  # cancelled or deleted while it waited
        task = asyncio.create_task(self._bounded(run))
        self._executing[run_id] = task
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
        finally:
            del self._executing[run_id]
        await self._settle(run_id, task)

    async def _bounded(self, run: Run) -> Report:
        limit = min(run.specification.options.timeout_s or self._timeout_s, self._timeout_s)
        try:
            async with asyncio.timeout(limit) as deadline:
                return await self._execute(run)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise RunDeadline(
                f"runs/{run.id} took longer than its {limit:g} s; resume it, or create it "
                "with a larger timeout",
                name=f"runs/{run.id}",
                timeout_s=limit,
            ) from None

    async def _settle(self, run_id: str, task: asyncio.Task[Report]) -> None:
        if task.cancelled():
            log.info("run cancelled")
            return
        error = task.exception()
        report = None if error else task.result()
        try:
            await asyncio.to_thread(self._store.change, run_id, _outcome(error), report)
        except (WrongState, RunNotFound):
            return  # cancelled in its last moment
        except Exception:  # the store is gone; the run is found again at the next start
            log.exception("could not store the end of the run")
            return
        if error is None:
            log.info("run succeeded")
        else:
            log.error("run failed", exc_info=error)


def _outcome(error: BaseException | None) -> Callable[[Run], Run]:
    if error is None:
        return lambda run: _ended(State.SUCCEEDED)(run).model_copy(
            update={"progress": run.progress.model_copy(update={"stage": Stage.DONE})}
        )
    failure = failure_of(error if isinstance(error, Exception) else RuntimeError(repr(error)))
    return lambda run: _ended(State.FAILED)(run).model_copy(update={"failure": failure})


def _cancelled(run: Run) -> Run:
    if run.state.terminal:
        raise RunNotCancellable(
            f"runs/{run.id} is {run.state} already", name=f"runs/{run.id}", state=run.state
        )
    return _ended(State.CANCELLED)(run)


def _ended(state: State) -> Callable[[Run], Run]:
    return lambda run: run.model_copy(update={"state": state, "ended": now()})


def _started(run: Run) -> Run:
    if run.state is not State.PENDING:  # queued twice: cancelled and resumed while it waited
        raise WrongState(f"runs/{run.id} is {run.state}", name=f"runs/{run.id}")
    return run.model_copy(update={"state": State.RUNNING, "started": now()})


def _waiting_again(run: Run) -> Run:
    return run.model_copy(update={"state": State.PENDING, "progress": Progress()})


def resumed(run: Run) -> Run:
    """A FAILED or CANCELLED run, waiting again with its pinned versions.

    Raises RunNotResumable in any other state.
    """
    if run.state not in {State.FAILED, State.CANCELLED}:
        raise RunNotResumable(
            f"runs/{run.id} is {run.state}; only FAILED and CANCELLED runs can be resumed",
            name=f"runs/{run.id}",
            state=run.state,
        )
    return _waiting_again(run).model_copy(update={"failure": None, "ended": None})
