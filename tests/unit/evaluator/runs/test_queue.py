"""The queue: bounded, each run once, an end for every run."""

import asyncio
from datetime import UTC, datetime

import pytest

from lookbench_evaluator.errors import QueueFull, RunNotCancellable, RunNotResumable
from lookbench_evaluator.runs.database import Database
from lookbench_evaluator.runs.model import (
    Dense,
    Encoder,
    Options,
    Run,
    Specification,
    State,
    System,
)
from lookbench_evaluator.runs.queue import RunQueue, resumed
from lookbench_evaluator.runs.results import Report
from lookbench_evaluator.runs.store import RunStore

REPORT = Report(metrics=(), subsets=(), headline_judgement="class")


class Executor:
    """Executes by waiting for its gate; counts what it was given."""

    def __init__(self):
        self.gate = asyncio.Event()
        self.begun = []
        self.most = self.under_way = 0
        self.error = None

    async def __call__(self, run):
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
    yield RunStore(database, lambda run: None)
    database.close()


@pytest.fixture
async def executor():
    return Executor()


@pytest.fixture
async def queue(store, executor):
    queue = RunQueue(store, executor, workers=2, limit=3, timeout_s=60)
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
        queue.submit(add(store, f"r{number}").id)
    await until(lambda: store.count(State.SUCCEEDED) == 5)
    assert sorted(executor.begun) == [f"r{n}" for n in range(5)]
    assert executor.most <= 2
    assert store.report("r0") == REPORT


async def test_a_failure_is_kept_with_its_reason(store, queue, executor):
    executor.error = QueueFull("no room", limit=1)
    executor.gate.set()
    queue.submit(add(store, "a").id)
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
    queue.submit(add(store, "a").id)
    await until(lambda: state(store, "a") is State.FAILED)
    assert "hunter2" not in store.get("a").model_dump_json()


async def test_a_running_run_is_cancelled_and_its_work_ends(store, queue, executor):
    queue.submit(add(store, "a").id)
    await until(lambda: executor.under_way == 1)
    run = await queue.cancel("a")
    assert run.state is State.CANCELLED
    assert executor.under_way == 0
    with pytest.raises(RunNotCancellable):
        await queue.cancel("a")


async def test_a_run_cancelled_and_resumed_while_it_waited_is_executed_once(store, executor):
    queue = RunQueue(store, executor, workers=2, limit=3, timeout_s=60)
    queue.submit(add(store, "a").id)
    await queue.cancel("a")
    store.change("a", resumed)
    queue.submit("a")
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
    queue.submit(add(store, "a", timeout_s=0.01).id)
    await until(lambda: state(store, "a") is State.FAILED)
    assert store.get("a").failure.reason == "DEADLINE_EXCEEDED"


async def test_a_full_queue_says_so(store, queue, executor):
    for number in range(5):
        queue.submit(add(store, f"r{number}").id)
    await until(lambda: executor.under_way == 2)
    with pytest.raises(QueueFull, match="3 runs wait"):
        queue.check_room()


async def test_stopping_leaves_runs_to_the_next_start(store, executor):
    first = RunQueue(store, executor, workers=1, limit=3, timeout_s=60)
    await first.start()
    for name in "ab":
        first.submit(add(store, name).id)
    await until(lambda: executor.under_way == 1)
    await first.stop()
    assert (state(store, "a"), state(store, "b")) == (State.RUNNING, State.PENDING)
    executor.gate.set()
    second = RunQueue(store, executor, workers=1, limit=3, timeout_s=60)
    await second.start()
    await until(lambda: store.count(State.SUCCEEDED) == 2)
    await second.stop()
    assert executor.begun == ["a", "a", "b"]
