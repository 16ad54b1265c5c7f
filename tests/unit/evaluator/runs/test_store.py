"""The store: creation once per request, legal transitions, revisions, paging, damage."""

import sqlite3
from datetime import UTC, datetime

import pytest

from lookbench_evaluator.errors import (
    QueueFull,
    RequestIdReused,
    RunAlreadyExists,
    RunNotDeletable,
    RunNotFinished,
    RunNotFound,
    StoreCorrupted,
    StoreUnavailable,
    WrongState,
)
from lookbench_evaluator.runs.database import Database
from lookbench_evaluator.runs.migrations import MIGRATIONS, schema_version
from lookbench_evaluator.runs.model import Dense, Encoder, Run, Specification, State, System
from lookbench_evaluator.runs.results import QueryResult, Report
from lookbench_evaluator.runs.store import REQUEST_ID_LIFETIME_S, PendingLimit, RunFilter, RunStore

REQUEST = "6f1c2a52-9a0e-4a3c-8a43-8b7e2d1f0c11"


def a_run(run_id, benchmark="luma", model="lite0"):
    encoder = Encoder(model=model)
    system = System(dense=Dense(query_encoder=encoder, item_encoder=encoder))
    return Run(
        id=run_id,
        specification=Specification(benchmark=benchmark, system=system),
        created=datetime(2026, 11, 1, tzinfo=UTC),
    )


def to(state):
    return lambda run: run.model_copy(update={"state": state})


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path)
    yield database
    database.close()


@pytest.fixture
def heard():
    return []


@pytest.fixture
def store(database, heard):
    return RunStore(database, heard.append, PendingLimit(100, 100))


def test_a_stored_run_is_read_back_equal(store):
    run = a_run("a")
    store.create(run, "", "", now=0.0)
    assert store.get("a") == run


def test_the_same_request_returns_the_first_run_as_it_is_now(store):
    store.create(a_run("a"), REQUEST, "body", now=0.0)
    store.change("a", to(State.RUNNING))
    again = store.create(a_run("b"), REQUEST, "body", now=10.0)
    assert (again.id, again.state) == ("a", State.RUNNING)
    with pytest.raises(RunNotFound):
        store.get("b")


def test_a_request_id_with_another_body_is_refused(store):
    store.create(a_run("a"), REQUEST, "body", now=0.0)
    with pytest.raises(RequestIdReused):
        store.create(a_run("b"), REQUEST, "other", now=10.0)


def test_a_request_id_is_forgotten_after_a_day(store):
    store.create(a_run("a"), REQUEST, "body", now=0.0)
    store.create(a_run("b"), REQUEST, "other", now=REQUEST_ID_LIFETIME_S + 1)
    assert store.get("b").id == "b"


def test_a_run_id_is_taken_once(store):
    store.create(a_run("a"), "", "", now=0.0)
    with pytest.raises(RunAlreadyExists, match="runs/a"):
        store.create(a_run("a"), "", "", now=0.0)


def test_every_change_has_the_next_revision_and_is_told(store, heard):
    store.create(a_run("a"), "", "", now=0.0)
    store.change("a", to(State.RUNNING))
    store.change("a", to(State.SUCCEEDED))
    assert [run.revision for run in heard] == [1, 2, 3]


def test_an_edit_that_changes_nothing_is_not_a_change(store, heard):
    store.create(a_run("a"), "", "", now=0.0)
    store.change("a", lambda run: run)
    assert len(heard) == 1


@pytest.mark.parametrize(
    ("steps", "then"),
    [
        ((State.RUNNING, State.SUCCEEDED), State.RUNNING),
        ((State.RUNNING, State.SUCCEEDED), State.PENDING),
        ((State.CANCELLED,), State.RUNNING),
        ((State.RUNNING, State.FAILED), State.CANCELLED),
    ],
)
def test_an_illegal_transition_is_refused_and_changes_nothing(store, steps, then):
    store.create(a_run("a"), "", "", now=0.0)
    for state in steps:
        store.change("a", to(state))
    with pytest.raises(WrongState):
        store.change("a", to(then))
    assert store.get("a").state is steps[-1]


def test_lists_are_newest_first_and_page_without_gaps(store):
    for number in range(5):
        store.create(a_run(f"r{number}"), "", "", now=0.0)
    first = store.list(RunFilter(), 2)
    rest = store.list(RunFilter(before=first[-1][0]), 10)
    assert [run.id for _, run in [*first, *rest]] == ["r4", "r3", "r2", "r1", "r0"]


def test_filters_choose_benchmark_model_and_states(store):
    store.create(a_run("a", benchmark="luma", model="x"), "", "", now=0.0)
    store.create(a_run("b", benchmark="luma", model="y"), "", "", now=0.0)
    store.create(a_run("c", benchmark="street", model="x"), "", "", now=0.0)
    store.change("b", to(State.CANCELLED))

    def found(**wanted):
        return [run.id for _, run in store.list(RunFilter(**wanted), 10)]

    assert found(benchmark="luma") == ["b", "a"]
    assert found(model="x") == ["c", "a"]
    assert found(states=(State.CANCELLED, State.FAILED)) == ["b"]
    assert found(benchmark="luma", model="x", states=(State.PENDING,)) == ["a"]


def a_result(query_id, subset="s"):
    return QueryResult(
        subset=subset,
        query_id=query_id,
        group=query_id,
        items=("i",),
        scores=(0.5,),
        grades={"class": (1.0,)},
        metrics=(),
        ties=0,
    )


def succeed(store, run_id):
    report = Report(metrics=(), subsets=(), headline_judgement="class")
    store.change(run_id, to(State.RUNNING))
    store.change(run_id, to(State.SUCCEEDED), report)
    return report


def test_results_of_a_run_under_way_are_not_shown(store):
    store.create(a_run("a"), "", "", now=0.0)
    store.replace_results("a", [a_result("half")])
    assert store.results("a", "", 0, 10) == []


def test_many_results_are_stored_in_several_transactions(store, monkeypatch):
    monkeypatch.setattr("lookbench_evaluator.runs.store.RESULTS_AT_ONCE", 2)
    store.create(a_run("a"), "", "", now=0.0)
    store.replace_results("a", (a_result(f"q{n}") for n in range(5)))
    succeed(store, "a")
    assert [r.query_id for _, r in store.results("a", "", 0, 10)] == [f"q{n}" for n in range(5)]


def test_results_keep_their_order_and_replace_earlier_ones(store):
    store.create(a_run("a"), "", "", now=0.0)
    store.replace_results("a", [a_result("old")] * 3)
    store.replace_results("a", [a_result("q1"), a_result("q2", "t"), a_result("q3")])
    succeed(store, "a")
    assert [r.query_id for _, r in store.results("a", "", 0, 10)] == ["q1", "q2", "q3"]
    assert [r.query_id for _, r in store.results("a", "s", 1, 10)] == ["q3"]


def test_results_of_an_unknown_run_are_not_an_empty_page(store):
    with pytest.raises(RunNotFound):
        store.results("nobody", "", 0, 10)


def test_a_report_needs_success(store):
    store.create(a_run("a"), "", "", now=0.0)
    with pytest.raises(RunNotFinished, match="PENDING"):
        store.report("a")
    report = succeed(store, "a")
    assert store.report("a") == report


def test_a_deleted_run_takes_its_results_and_its_request_along(store):
    store.create(a_run("a"), REQUEST, "body", now=0.0)
    store.replace_results("a", [a_result("q1")])
    store.change("a", to(State.CANCELLED))
    store.delete("a")
    with pytest.raises(RunNotFound):
        store.get("a")
    store.create(a_run("a"), REQUEST, "other body", now=1.0)
    assert store.results("a", "", 0, 10) == []


def test_unfinished_runs_come_oldest_first(store):
    for name in "abc":
        store.create(a_run(name), "", "", now=0.0)
    store.change("b", to(State.CANCELLED))
    assert [run.id for run in store.unfinished()] == ["a", "c"]


def test_everything_is_there_after_reopening(tmp_path):
    first = Database(tmp_path)
    RunStore(first, lambda run: None, PendingLimit(100, 100)).create(a_run("a"), "", "", now=0.0)
    first.close()
    second = Database(tmp_path)
    assert RunStore(second, lambda run: None, PendingLimit(100, 100)).get("a").id == "a"
    second.close()


def test_a_second_evaluator_on_the_folder_is_refused(database, tmp_path):
    with pytest.raises(StoreUnavailable, match="another evaluator uses"):
        Database(tmp_path)


def test_a_schema_of_the_future_is_refused(tmp_path):
    Database(tmp_path).close()
    db = sqlite3.connect(tmp_path / "runs.sqlite3")
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    with pytest.raises(StoreUnavailable, match="newer evaluator"):
        Database(tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="store_dir"):
        Database(tmp_path / "file" / "store")


def test_migrations_are_applied_once(database):
    with database.reading() as db:
        assert schema_version(db) == len(MIGRATIONS)


def test_a_failed_transaction_leaves_nothing(database, store):
    store.create(a_run("a"), "", "", now=0.0)

    def failing():
        with database.writing() as db:
            db.execute("DELETE FROM runs")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    assert store.get("a").id == "a"


def test_only_so_many_runs_may_wait(database):
    store = RunStore(database, lambda run: None, PendingLimit(2, 2))
    for name in "ab":
        store.create(a_run(name), "", "", now=0.0)
    with pytest.raises(QueueFull, match="2 runs wait"):
        store.create(a_run("c"), "", "", now=0.0)
    store.change("a", to(State.CANCELLED))
    store.create(a_run("c"), "", "", now=0.0)
    with pytest.raises(QueueFull):
        store.change("a", to(State.PENDING))


def test_one_caller_leaves_room_for_others(database):
    store = RunStore(database, lambda run: None, PendingLimit(10, 2))
    for name in "ab":
        store.create(a_run(name).model_copy(update={"caller": "x"}), "", "", now=0.0)
    with pytest.raises(QueueFull, match="2 runs of yours wait"):
        store.create(a_run("c").model_copy(update={"caller": "x"}), "", "", now=0.0)
    store.create(a_run("d").model_copy(update={"caller": "y"}), "", "", now=0.0)


def test_a_run_that_has_not_ended_is_not_deleted(store):
    store.create(a_run("a"), "", "", now=0.0)
    with pytest.raises(RunNotDeletable):
        store.delete("a")


def test_a_record_that_cannot_be_read_is_named_and_not_a_traceback(database, store):
    store.create(a_run("a"), "", "", now=0.0)
    with database.writing() as db:
        db.execute("UPDATE runs SET record = '{}'")
    for read in (lambda: store.get("a"), store.unfinished, lambda: store.list(RunFilter(), 5)):
        with pytest.raises(StoreCorrupted, match="a Run of it cannot be read"):
            read()


def test_a_report_and_results_that_cannot_be_read_are_named_too(database, store):
    store.create(a_run("a"), "", "", now=0.0)
    store.replace_results("a", [a_result("q")])
    succeed(store, "a")
    with database.writing() as db:
        db.execute("UPDATE runs SET report = '{}'")
        db.execute("UPDATE query_results SET record = '{'")
    with pytest.raises(StoreCorrupted, match="a Report of it"):
        store.report("a")
    with pytest.raises(StoreCorrupted, match="a QueryResult of it"):
        store.results("a", "", 0, 5)
