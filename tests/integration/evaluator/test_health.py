"""Fault A23: ready is what is ready, each thing under a name of its own."""

import time

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from asking import free_port, health, make_folder, refused, run_of
from fake_triton import COLOURS, LETTERS, publish
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench_evaluator.health import INTERVAL_S

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture
def server(fake_triton):
    return fake_triton()


@pytest.fixture
def health_port():
    return free_port()


@pytest.fixture
def evaluator(make_evaluator, server, data_root, tmp_path, health_port):
    evaluator = make_evaluator(
        server.url, model_repository=publish(tmp_path / "models"), health_port=health_port
    )
    folder = data_root / "healthy"
    if not folder.exists():
        make_folder(folder, [("i", "item", "a"), ("q", "query", "a")])
    evaluator.import_benchmark("healthy", "image-folder", folder)
    return evaluator


def within_an_interval(evaluator, state):
    """Until the name `triton` has the state: a probe's time over the interval at most."""
    deadline = time.monotonic() + INTERVAL_S + 1
    while health(evaluator, "triton") != state:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("away", "back", "reason"),
    [
        (
            lambda server: server.unloaded.add(COLOURS),
            lambda server: server.unloaded.clear(),
            "MODEL_NOT_READY",
        ),
        (lambda server: server.stop(), lambda server: server.start(), "TRITON_UNAVAILABLE"),
    ],
    ids=["one model unloaded", "server gone"],
)
def test_what_runs_need_has_a_name_of_its_own_and_results_stay_readable(
    evaluator, server, away, back, reason
):
    within_an_interval(evaluator, SERVING)
    before = evaluator.evaluate("healthy", COLOURS)
    away(server)
    within_an_interval(evaluator, NOT_SERVING)
    message, others = refused(
        evaluator.stub.CreateRun,
        api.CreateRunRequest(run=run_of("healthy", COLOURS)),
        grpc.StatusCode.UNAVAILABLE,
        reason,
    )
    assert server.url in message
    assert others == ["RetryInfo"]
    for name in ("", "liveness", "readiness", "lookbench.v1.EvaluationService"):
        assert health(evaluator, name) == SERVING
    assert evaluator.report(before.run) == before
    back(server)
    deadline = time.monotonic() + 30  # a client that lost its server waits before it tries again
    while health(evaluator, "triton") != SERVING:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert evaluator.evaluate("healthy", COLOURS).metrics == before.metrics


def test_the_model_that_is_missing_is_named_to_who_asks(evaluator, server):
    server.unloaded.add(LETTERS)
    within_an_interval(evaluator, NOT_SERVING)
    assert f"not served: {LETTERS}" in evaluator.log_file.read_text()
    found = evaluator.stub.GetModel(api.GetModelRequest(name=f"models/{LETTERS}"))
    assert not found.ready
    assert "unloaded" in found.problem
    evaluator.evaluate("healthy", COLOURS), "the other model is served"


def test_probes_have_a_port_of_their_own(evaluator, health_port):
    with grpc.insecure_channel(f"127.0.0.1:{health_port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name in ("", "liveness", "readiness"):
            asked = health_pb2.HealthCheckRequest(service=name)
            assert stub.Check(asked, timeout=5).status == SERVING
