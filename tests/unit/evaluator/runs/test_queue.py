"""The queue: bounded, each run once, an end for every run."""

import asyncio
from datetime import UTC, datetime

import pytest

from lookbench_evaluator.errors import (
    QueueFull,
    RunNotCancellable,
    RunNotResumable,
    StoreUnavailable,
    WrongState,
)
from lookbench_evaluator.runs import transitions
from lookbench_evaluator.runs.database import Database
from lookbench_evaluator.runs.files import RunFiles
from lookbench_evaluator.runs.model import (
    Dense,
    Encoder,
    Options,
    Run,
    Specification,
    State,
    System,
)
from lookbench_evaluator.runs.queue import RunQueue
from lookbench_evaluator.runs.results import Report
from lookbench_evaluator.runs.store import PendingLimit, RunStore
from lookbench_evaluator.runs.transitions import resumed

REPORT = Report(metrics=(), subsets=(), headline_judgement="class")


class Executor:
    """Executes by waiting for its gate; counts what it was given."""

    def __init__(self):
        self.gate = asyncio.Event()
        self.begun = []
        self.most = self.under_way = 0
        self.error = None

    async def __call__(self, run, deadline):
        self.begun.append(run.id)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.gate.wait()
            if self.error:
                raise self.error
            return REPORT
        finally:
            self.under_way -= 1


@pytest.fixture
def store(tmp_path):
    database = Database(tmp_path)
    yield RunStore(database, lambda run: None, PendingLimit(100, 100))
    database.close()


@pytest.fixture
def files(tmp_path):
    return RunFiles(tmp_path / "runs")


@pytest.fixture
async def executor():
    return Executor()


@pytest.fixture
async def queue(store, files, executor):
    queue = RunQueue(store, files, executor, workers=2, timeout_s=60)
    await queue.start()
    yield queue
    await queue.stop()


def add(store, run_id, **options):
    encoder = Encoder(model="m")
    spec = Specification(
        benchmark="b",
        system=System(dense=Dense(query_encoder=encoder, item_encoder=encoder)),
        options=Options(**options),
    )
    run = Run(id=run_id, specification=spec, created=datetime(2026, 1, 1, tzinfo=UTC))
    return store.create(run, "", "", 0.0)


async def until(condition):
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


def state(store, run_id):
    return store.get(run_id).state


async def test_all_runs_end_and_no_more_than_the_workers_are_under_way(store, queue, executor):
    executor.gate.set()
    for number in range(5):
        queue.submit(add(store, f"r{number}"))
    await until(lambda: store.count(State.SUCCEEDED) == 5)
    assert sorted(executor.begun) == [f"r{n}" for n in range(5)]
    assert executor.most <= 2
    assert store.report("r0") == REPORT


async def test_a_failure_is_kept_with_its_reason(store, queue, executor):
    executor.error = QueueFull("no room", limit=1)
    executor.gate.set()
    queue.submit(add(store, "a"))
    await until(lambda: state(store, "a") is State.FAILED)
    failure = store.get("a").failure
    assert (failure.code, failure.reason, failure.message) == (
        "RESOURCE_EXHAUSTED",
        "QUEUE_FULL",
        "no room",
    )


async def test_an_unexpected_failure_keeps_its_type_but_not_its_text(store, queue, executor):
    executor.error = RuntimeError("password=hunter2")
    executor.gate.set()
    queue.submit(add(store, "a"))
    await until(lambda: state(store, "a") is State.FAILED)
    assert "hunter2" not in store.get("a").model_dump_json()


async def test_a_running_run_is_cancelled_and_its_work_ends(store, queue, executor):
    queue.submit(add(store, "a"))
    await until(lambda: executor.under_way == 1)
    run = await queue.cancel("a")
    assert run.state is State.CANCELLED
    assert executor.under_way == 0
    with pytest.raises(RunNotCancellable):
        await queue.cancel("a")


async def test_a_run_cancelled_and_resumed_while_it_waited_is_executed_once(store, files, executor):
    queue = RunQueue(store, files, executor, workers=2, timeout_s=60)
    queue.submit(add(store, "a"))
    await queue.cancel("a")
    store.change("a", resumed)
    queue.submit(store.get("a"))
    executor.gate.set()
    await queue.start()
    await until(lambda: state(store, "a") is State.SUCCEEDED)
    await queue.stop()
    assert executor.begun == ["a"]


async def test_only_failed_and_cancelled_runs_are_resumed(store):
    run = add(store, "a")
    for wrong in (State.PENDING, State.RUNNING, State.SUCCEEDED):
        with pytest.raises(RunNotResumable):
            resumed(run.model_copy(update={"state": wrong}))


async def test_a_run_over_its_time_fails_with_a_deadline(store, queue):
    queue.submit(add(store, "a", timeout_s=0.01))
    await until(lambda: state(store, "a") is State.FAILED)
    assert store.get("a").failure.reason == "DEADLINE_EXCEEDED"


async def test_stopping_leaves_runs_to_the_next_start(store, files, executor):
    first = RunQueue(store, files, executor, workers=1, timeout_s=60)
    await first.start()
    for name in "ab":
        first.submit(add(store, name))
    await until(lambda: executor.under_way == 1)
    await first.stop()
    assert (state(store, "a"), state(store, "b")) == (State.RUNNING, State.PENDING)
    executor.gate.set()
    second = RunQueue(store, files, executor, workers=1, timeout_s=60)
    await second.start()
    await until(lambda: store.count(State.SUCCEEDED) == 2)
    await second.stop()
    assert executor.begun == ["a", "a", "b"]


async def test_an_unreachable_store_delays_a_run_and_loses_none(
    store, files, executor, monkeypatch
):
    monkeypatch.setattr("lookbench_evaluator.runs.queue.STORE_RETRY_S", 0.01)
    add(store, "a")
    change, refusals = store.change, iter([True, False, True, True])

    def flaky(*arguments):
        if next(refusals, False):
            raise StoreUnavailable("disk full")
        return change(*arguments)

    monkeypatch.setattr(store, "change", flaky)
    executor.gate.set()
    queue = RunQueue(store, files, executor, workers=1, timeout_s=60)
    await queue.start()
    await until(lambda: state(store, "a") is State.SUCCEEDED)
    await queue.stop()
    assert executor.begun == ["a"]


async def test_a_run_resumed_while_its_old_execution_winds_down_is_executed_once_at_a_time(
    store, queue, executor
):
    queue.submit(add(store, "a"))
    await until(lambda: executor.under_way == 1)
    cancelling = asyncio.create_task(queue.cancel("a"))
    await until(lambda: state(store, "a") is State.CANCELLED)
    store.change("a", resumed)
    queue.submit(store.get("a"))
    await cancelling
    executor.gate.set()
    await until(lambda: state(store, "a") is State.SUCCEEDED)
    assert executor.begun == ["a", "a"]
    assert executor.most == 1


async def test_the_end_of_an_old_execution_does_not_end_the_new_one(store):
    old = store.change(add(store, "a").id, transitions.started)
    store.change("a", transitions.cancelled)
    store.change("a", transitions.resumed)
    store.change("a", transitions.started)
    with pytest.raises(WrongState):
        store.change("a", transitions.succeeded(old), REPORT)
    assert state(store, "a") is State.RUNNING
