"""The machine's clock jumps: what is told of runs stays sensible, and no run is made twice."""

import time
from datetime import UTC, datetime

import pytest

from lookbench_evaluator.errors import RunAlreadyExists
from lookbench_evaluator.paging import page_position, page_token
from lookbench_evaluator.runs.database import Database
from lookbench_evaluator.runs.model import Dense, Encoder, Run, Specification, Stage, System
from lookbench_evaluator.runs.progress import Tracker
from lookbench_evaluator.runs.store import PendingLimit, RunFilter, RunStore

REQUEST = "6f1c2a52-9a0e-4a3c-8a43-8b7e2d1f0c11"
NOW, YEAR = 1_800_000_000.0, 365 * 86_400.0


@pytest.fixture
def store(tmp_path):
    database = Database(tmp_path)
    yield RunStore(database, lambda run: None, PendingLimit(100, 100))
    database.close()


def a_run(run_id, at=NOW):
    encoder = Encoder(model="m")
    system = System(dense=Dense(query_encoder=encoder, item_encoder=encoder))
    created = datetime.fromtimestamp(at, UTC)
    return Run(
        id=run_id, specification=Specification(benchmark="b", system=system), created=created
    )


@pytest.mark.parametrize("jump", [-YEAR, -1.0, 3600.0])
def test_a_request_is_known_after_a_jump_back_and_a_short_one_forward(store, jump):
    store.create(a_run("a"), REQUEST, "body", now=NOW)
    assert store.create(a_run("b"), REQUEST, "body", now=NOW + jump).id == "a"


def test_after_a_jump_over_a_day_a_run_with_an_id_of_its_own_is_still_made_once(store):
    """The request is forgotten as after a day; the id of the run is not."""
    store.create(a_run("a"), REQUEST, "body", now=NOW)
    with pytest.raises(RunAlreadyExists):
        store.create(a_run("a", NOW + YEAR), REQUEST, "body", now=NOW + YEAR)


def test_lists_and_pages_follow_the_order_of_creation_not_the_clock(store):
    for name, at in (("first", NOW), ("second", NOW - YEAR), ("third", NOW + YEAR)):
        store.create(a_run(name, at), "", "", now=at)
    listed = [run.id for _, run in store.list(RunFilter(), 10)]
    assert listed == ["third", "second", "first"]
    assert [run.id for run in store.unfinished()] == ["first", "second", "third"]


def test_a_page_token_does_not_age(monkeypatch):
    token = page_token(7, "runs")
    monkeypatch.setattr(time, "time", lambda: NOW + YEAR)
    assert page_position(token, "runs") == 7


def test_rate_and_remaining_time_do_not_look_at_the_clock(monkeypatch):
    steady = iter(range(100))
    tracker = Tracker(clock=lambda: float(next(steady)))
    tracker.expect(100)
    tracker.enter(Stage.EMBEDDING_ITEMS)
    tracker.advance(10)
    before = tracker.progress
    monkeypatch.setattr(time, "time", lambda: NOW - YEAR)
    assert 0 < tracker.progress.rate <= before.rate
    assert tracker.progress.remaining_s > 0
