"""Watching: snapshot first, growing revisions, an end."""

from datetime import UTC, datetime

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


async def test_changes_are_told_until_the_end(monkeypatch):
    monkeypatch.setattr(watch, "MIN_INTERVAL_S", 0)
    watcher, now = RunWatch(), a_run(1, State.PENDING)
    seen = []
    async for run in watcher.follow("a", lambda _: now):
        seen.append((run.revision, run.state))
        if run.revision == 1:
            now = a_run(2, State.RUNNING)
        elif run.revision == 2:
            now = a_run(4, State.FAILED)
        watcher.notify(now)
    assert seen == [(1, State.PENDING), (2, State.RUNNING), (4, State.FAILED)]


async def test_a_change_of_another_run_tells_nothing(monkeypatch):
    monkeypatch.setattr(watch, "MIN_INTERVAL_S", 0)
    watcher, now = RunWatch(), a_run(1, State.PENDING)
    stream = watcher.follow("a", lambda _: now)
    await anext(stream)
    watcher.notify(now.model_copy(update={"id": "b"}))
    now = a_run(2, State.CANCELLED)
    watcher.notify(now)
    assert (await anext(stream)).revision == 2
    await stream.aclose()
