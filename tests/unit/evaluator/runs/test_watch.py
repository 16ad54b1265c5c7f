"""Watching: snapshot first, growing revisions, an end."""

from datetime import UTC, datetime

import pytest

from lookbench_evaluator.errors import ShuttingDown
from lookbench_evaluator.runs import watch
from lookbench_evaluator.runs.model import Dense, Encoder, Run, Specification, State, System
from lookbench_evaluator.runs.watch import RunWatch


def a_run(revision, state):
    encoder = Encoder(model="m")
    system = System(dense=Dense(query_encoder=encoder, item_encoder=encoder))
    return Run(
        id="a",
        specification=Specification(benchmark="b", system=system),
        created=datetime(2026, 1, 1, tzinfo=UTC),
        revision=revision,
        state=state,
    )


async def test_an_ended_run_is_told_once():
    done = a_run(7, State.SUCCEEDED)
    assert [run async for run in RunWatch().follow("a", lambda _: done)] == [done]


class Stored:
    """The run as a store would give it."""

    def __init__(self, run):
        self.run = run

    def get(self, run_id):
        return self.run


async def test_changes_are_told_until_the_end(monkeypatch):
    monkeypatch.setattr(watch, "MIN_INTERVAL_S", 0)
    watcher, stored = RunWatch(), Stored(a_run(1, State.PENDING))
    later = iter([a_run(2, State.RUNNING), a_run(4, State.FAILED)])
    seen = []
    async for run in watcher.follow("a", stored.get):
        seen.append((run.revision, run.state))
        stored.run = next(later, stored.run)
        watcher.notify(stored.run)
    assert seen == [(1, State.PENDING), (2, State.RUNNING), (4, State.FAILED)]


async def test_a_change_of_another_run_tells_nothing(monkeypatch):
    monkeypatch.setattr(watch, "MIN_INTERVAL_S", 0)
    watcher, stored = RunWatch(), Stored(a_run(1, State.PENDING))
    stream = watcher.follow("a", stored.get)
    await anext(stream)
    watcher.notify(stored.run.model_copy(update={"id": "b"}))
    stored.run = a_run(2, State.CANCELLED)
    watcher.notify(stored.run)
    assert (await anext(stream)).revision == 2
    await stream.aclose()


async def test_watching_ends_when_the_evaluator_stops():
    watcher, stored = RunWatch(), Stored(a_run(1, State.RUNNING))
    stream = watcher.follow("a", stored.get)
    await anext(stream)
    watcher.stop()
    with pytest.raises(ShuttingDown, match="watch runs/a again"):
        await anext(stream)
