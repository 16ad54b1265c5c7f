"""Triton away, the evaluator killed or stopped: what stays, and what goes on."""

import time

import grpc
import pytest
from grpc_health.v1 import health_pb2

from asking import MODEL, details, health, refused, run_of
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2


def test_without_triton_runs_are_refused_and_results_stay_readable(
    make_evaluator, embedded_triton, models, data_root, shades
):
    server = embedded_triton(models, "--load", MODEL)
    evaluator = make_evaluator(server.grpc_url)
    evaluator.import_benchmark("shades", "image-folder", data_root / "shades")
    report = evaluator.evaluate("shades", MODEL)
    not_loaded = evaluator.stub.GetModel(api.GetModelRequest(name="models/all-minilm-l6-v2"))
    assert not not_loaded.ready
    assert not_loaded.problem
    server.stop()
    message, others = refused(
        evaluator.stub.CreateRun,
        api.CreateRunRequest(run=run_of()),
        grpc.StatusCode.UNAVAILABLE,
        "TRITON_UNAVAILABLE",
    )
    assert server.grpc_url in message
    assert others == ["RetryInfo"]
    assert evaluator.report(report.run) == report
    deadline = time.monotonic() + 10
    while health(evaluator, "triton") == health_pb2.HealthCheckResponse.SERVING:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert health(evaluator, "") == health_pb2.HealthCheckResponse.SERVING


def test_a_killed_evaluator_finishes_its_runs_after_restart(make_evaluator, triton, fashion_mnist):
    evaluator = make_evaluator(triton.grpc_url)
    evaluator.import_benchmark("fm", "fashion-mnist", fashion_mnist, queries="40", items="300")
    whole = evaluator.evaluate("fm", MODEL)
    run = evaluator.create("fm", MODEL)
    for change in evaluator.stub.WatchRun(api.WatchRunRequest(name=run.name), timeout=60):
        if change.run.progress.done:
            break
    evaluator.end(kill=True)
    evaluator.start()
    ended = evaluator.wait(evaluator.stub.GetRun(api.GetRunRequest(name=run.name)))
    assert ended.state == run_pb2.Run.SUCCEEDED, ended.error.message
    assert evaluator.report(ended).metrics == whole.metrics


def test_a_clean_stop_is_quick_and_leaves_the_store_in_order(make_evaluator, triton):
    evaluator = make_evaluator(triton.grpc_url)
    started = time.monotonic()
    assert evaluator.end() == 0
    assert time.monotonic() - started < 10
    evaluator.start()
    assert list(evaluator.stub.ListRuns(api.ListRunsRequest()).runs) == []


def test_stopping_does_not_wait_for_watchers(make_evaluator, triton, fashion_mnist):
    evaluator = make_evaluator(triton.grpc_url)
    evaluator.import_benchmark("fm", "fashion-mnist", fashion_mnist, queries="60", items="400")
    run = evaluator.create("fm", MODEL)
    stream = evaluator.stub.WatchRun(api.WatchRunRequest(name=run.name), timeout=60)
    next(stream)
    evaluator.process.terminate()
    with pytest.raises(grpc.RpcError) as caught:
        list(stream)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert details(caught.value)[0].reason == "SHUTTING_DOWN"
    assert evaluator.process.wait(8) == 0
