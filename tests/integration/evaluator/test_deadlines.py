"""Fault A22: one deadline from end to end, and no work that nobody waits for."""

import time

import pytest

from asking import make_folder, reason_of
from fake_triton import COLOURS, hanging, publish, right, slow
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2

IN_FLIGHT = 4


@pytest.fixture
def server(fake_triton):
    return fake_triton()


@pytest.fixture
def evaluator(make_evaluator, server, data_root, tmp_path):
    """Twenty queries and five items in requests of five rows, and no answer kept."""
    evaluator = make_evaluator(
        server.url,
        model_repository=publish(tmp_path / "models"),
        cache_bytes=0,
        in_flight=IN_FLIGHT,
        request_bytes=1024,
    )
    folder = data_root / "timed"
    if not folder.exists():
        rows = [(f"q{n}", "query", "a") for n in range(20)]
        make_folder(folder, [*rows, *((f"i{n}", "item", "a") for n in range(5))])
    evaluator.import_benchmark("timed", "image-folder", folder)
    evaluator.evaluate("timed", COLOURS)
    server.forget()
    return evaluator


@pytest.mark.parametrize("behaviour", [slow(5), hanging], ids=["slow", "hanging"])
def test_a_run_over_its_time_ends_then_and_leaves_no_request_behind(evaluator, server, behaviour):
    server.behaviour = behaviour
    options = run_pb2.EvaluationOptions(timeout={"nanos": 500_000_000})
    began = time.monotonic()
    run = evaluator.wait(evaluator.create("timed", COLOURS, options=options))
    assert time.monotonic() - began < 4
    assert run.state == run_pb2.Run.FAILED
    assert reason_of(run.error) == "DEADLINE_EXCEEDED"
    assert "0.5 s; resume it, or create it with a larger timeout" in run.error.message
    server.wait_idle()
    accepted = server.seen.accepted
    assert server.seen.most_running <= IN_FLIGHT
    assert server.seen.cancelled == accepted
    time.sleep(1)
    assert server.seen.accepted == accepted, "nothing is asked any more"


def test_cancelling_a_run_reaches_the_server(evaluator, server):
    server.behaviour = hanging
    run = evaluator.create("timed", COLOURS)
    while not server.seen.running:
        time.sleep(0.01)
    evaluator.stub.CancelRun(api.CancelRunRequest(name=run.name), timeout=10)
    server.wait_idle()
    assert server.seen.cancelled == server.seen.accepted
    server.behaviour = right
    resumed = evaluator.stub.ResumeRun(api.ResumeRunRequest(name=run.name))
    assert evaluator.wait(resumed).state == run_pb2.Run.SUCCEEDED


def test_stopping_the_evaluator_leaves_no_request_behind(evaluator, server):
    server.behaviour = hanging
    run = evaluator.create("timed", COLOURS)
    while not server.seen.running:
        time.sleep(0.01)
    assert evaluator.end() == 0
    server.wait_idle()
    server.behaviour = right
    evaluator.start()
    assert evaluator.wait(run).state == run_pb2.Run.SUCCEEDED
