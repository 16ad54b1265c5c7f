"""A run goes on with the versions that it began with, or not at all."""

import grpc
import pytest

from asking import make_folder, refused
from fake_models import COLOURS, OTHER_DIGEST, manifest_of, publish
from fake_triton import hanging, right
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2
from lookbench_core.manifest import write_manifest

ROWS = [("i0", "item", "a"), ("i1", "item", "b"), ("q", "query", "a")]


@pytest.fixture
def server(fake_triton):
    return fake_triton()


@pytest.fixture
def repository(tmp_path):
    return publish(tmp_path / "models", COLOURS)


@pytest.fixture
def evaluator(make_evaluator, server, repository, tmp_path):
    evaluator = make_evaluator(
        server.url, model_repository=repository, data_roots=tmp_path, cache_bytes=0
    )
    folder = make_folder(tmp_path / "pinned", ROWS)
    evaluator.import_benchmark("pinned", "image-folder", folder)
    evaluator.evaluate("pinned", COLOURS)
    return evaluator


@pytest.fixture
def cancelled(evaluator, server):
    """A run that began and was cancelled."""
    server.behaviour = hanging
    run = evaluator.create("pinned", COLOURS)
    for change in evaluator.stub.WatchRun(api.WatchRunRequest(name=run.name), timeout=30):
        if change.run.pinned.benchmark_digest:
            break
    evaluator.stub.CancelRun(api.CancelRunRequest(name=run.name), timeout=20)
    server.behaviour = right
    return run


def test_a_run_whose_benchmark_was_replaced_is_not_resumed(evaluator, cancelled, tmp_path):
    other = make_folder(tmp_path / "other", [*ROWS[:-1], ("q", "query", "b")])
    evaluator.stub.ImportBenchmark(
        api.ImportBenchmarkRequest(
            benchmark_id="pinned", format="image-folder", path=str(other), allow_replace=True
        )
    )
    evaluator.imported("pinned")
    message, others = refused(
        evaluator.stub.ResumeRun,
        api.ResumeRunRequest(name=cancelled.name),
        grpc.StatusCode.FAILED_PRECONDITION,
        "PINNED_VERSION_GONE",
    )
    assert "another version of benchmarks/pinned; create a new run" in message
    assert others == ["PreconditionFailure"]


def test_a_run_whose_model_was_replaced_is_not_resumed_until_it_is_back(
    evaluator, cancelled, server, repository
):
    folder = repository / COLOURS
    server.change(COLOURS, digest=OTHER_DIGEST)
    write_manifest(manifest_of(COLOURS, folder, OTHER_DIGEST), folder)
    message, _ = refused(
        evaluator.stub.ResumeRun,
        api.ResumeRunRequest(name=cancelled.name),
        grpc.StatusCode.FAILED_PRECONDITION,
        "PINNED_VERSION_GONE",
    )
    assert f"another version of models/{COLOURS}" in message
    still = evaluator.stub.GetRun(api.GetRunRequest(name=cancelled.name))
    assert still.state == run_pb2.Run.CANCELLED
    server.change(COLOURS, digest=still.pinned.models[0].graph_digest)
    write_manifest(manifest_of(COLOURS, folder), folder)
    resumed = evaluator.stub.ResumeRun(api.ResumeRunRequest(name=cancelled.name))
    assert evaluator.wait(resumed).state == run_pb2.Run.SUCCEEDED
