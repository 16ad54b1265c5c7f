"""A damaged store, two evaluators on one, a taken port: refused in one line, nothing spoilt."""

import socket
import sqlite3

import grpc
import pytest

from asking import MODEL, refused, start_refused
from lookbench.v1 import evaluation_service_pb2 as api

PAGE = 4096


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def database(store):
    return store / "runs.sqlite3"


@pytest.fixture
def evaluated(make_evaluator, triton, store, data_root, shades):
    """An evaluator with one finished run, and its report."""
    evaluator = make_evaluator(triton.grpc_url, store_dir=store)
    evaluator.import_benchmark("shades", "image-folder", data_root / shades)
    return evaluator, evaluator.evaluate("shades", MODEL)


def damage(path, table):
    """Overwrites the page where a table begins; the -wal of a killed evaluator stays."""
    db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    db.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(b"\xff" * PAGE)


def test_a_file_of_another_kind_is_refused_with_the_next_step_which_works(
    evaluated, database, make_evaluator, triton, data_root
):
    evaluator, before = evaluated
    evaluator.end()
    copy = database.read_bytes()
    database.write_bytes(b"not a database " * 1000)
    told = start_refused(store_dir=database.parent)
    assert f"{database} is damaged: file is not a database" in told
    assert "put a copy back, or start without one and import the benchmarks again" in told
    database.write_bytes(copy)
    evaluator.start()
    assert evaluator.report(before.run) == before
    evaluator.end()
    database.rename(database.with_name("away"))
    evaluator.start()
    assert list(evaluator.stub.ListRuns(api.ListRunsRequest()).runs) == []
    evaluator.import_benchmark("shades", "image-folder", data_root / "shades")
    assert evaluator.evaluate("shades", MODEL).metrics == before.metrics


def test_damaged_pages_after_a_kill_are_refused_at_the_start(evaluated, database):
    evaluator, _ = evaluated
    evaluator.end()
    evaluator.start()
    evaluator.end(kill=True)
    damage(database, "query_results")
    assert f"{database} is damaged: " in start_refused(store_dir=database.parent)


def test_an_emptied_file_is_refused_and_the_benchmarks_stay(evaluated, database):
    evaluator, before = evaluated
    evaluator.end()
    copy = database.read_bytes()
    database.write_bytes(b"")
    assert "it holds nothing, although" in start_refused(store_dir=database.parent)
    database.write_bytes(copy)
    evaluator.start()
    assert evaluator.evaluate("shades", MODEL).metrics == before.metrics


def test_damage_that_is_met_later_is_data_loss_and_the_rest_stays_readable(evaluated, database):
    evaluator, before = evaluated
    evaluator.end()
    damage(database, "query_results")
    evaluator.start()
    message, others = refused(
        evaluator.stub.ListQueryResults,
        api.ListQueryResultsRequest(parent=before.run.name),
        grpc.StatusCode.DATA_LOSS,
        "STORE_CORRUPTED",
    )
    assert str(database) in message
    assert others == [], "nothing says that repeating would help"
    assert evaluator.report(before.run) == before


def test_a_second_evaluator_on_the_store_is_refused_and_the_first_goes_on(evaluated, store):
    evaluator, before = evaluated
    told = start_refused(store_dir=store)
    assert f"another evaluator uses {store}; stop it or give this one its own store_dir" in told
    assert evaluator.evaluate("shades", MODEL).metrics == before.metrics
    evaluator.end(kill=True)
    evaluator.start()
    assert evaluator.report(before.run) == before


@pytest.mark.parametrize("flag", ["--port", "--health-port"])
def test_a_taken_port_is_named_with_its_flag(store, flag):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = start_refused(store_dir=store, **{flag.strip("-").replace("-", "_"): port})
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in told
    assert f"choose another port with {flag}" in told


def test_an_address_of_another_machine_is_named(store):
    told = start_refused(store_dir=store, host="192.0.2.1", insecure=True)
    assert "192.0.2.1" in told
    assert "Cannot assign requested address; choose another with --host" in told
