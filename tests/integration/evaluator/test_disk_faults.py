"""Disks that are full, read-only or gone, below a real evaluator: clear words, nothing lost."""

import json
import shutil
import time

import grpc
import pytest
from grpc_health.v1 import health_pb2

from asking import (
    MODEL,
    details,
    health,
    make_folder,
    reason_of,
    refused,
    run_of,
    start_refused,
)
from disks import Disk
from lookbench.v1 import benchmark_pb2, run_pb2
from lookbench.v1 import evaluation_service_pb2 as api

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


@pytest.fixture
def make_disk(tmp_path):
    made = []

    def make(size):
        folder = tmp_path / f"disk-{len(made)}"
        folder.mkdir()
        made.append(Disk(folder, size))
        return made[-1]

    yield make
    for disk in made:
        disk.unmount()


@pytest.fixture
def folder(data_root, shades):
    return data_root / shades


def test_a_full_disk_at_the_start_is_one_line_and_exit_code_1(make_disk):
    disk = make_disk("64k")
    disk.fill()
    told = start_refused(store_dir=disk.folder / "store")
    assert str(disk.folder) in told
    assert "free space there" in told


def test_a_read_only_store_is_one_line_and_exit_code_1(make_disk):
    disk = make_disk("4m")
    disk.make_read_only()
    told = start_refused(store_dir=disk.folder / "store")
    assert f"cannot use {disk.folder}/store: Read-only file system; make it writable" in told


def test_a_store_of_which_only_the_file_is_read_only_is_refused(make_evaluator, triton, make_disk):
    disk = make_disk("16m")
    evaluator = make_evaluator(triton.grpc_url, store_dir=disk.folder / "store")
    evaluator.end()
    disk.make_read_only()
    assert "Read-only file system" in start_refused(store_dir=disk.folder / "store")


def test_a_read_only_data_folder_is_enough_to_import(make_evaluator, triton, make_disk):
    disk = make_disk("4m")
    folder = make_folder(disk.folder / "shop", [("i", "item", "a"), ("q", "query", "a")])
    disk.make_read_only()
    evaluator = make_evaluator(triton.grpc_url, data_roots=disk.folder)
    found = evaluator.import_benchmark("shop", "image-folder", folder)
    assert found.state == benchmark_pb2.Benchmark.READY, found.error.message


def test_a_full_disk_refuses_new_runs_and_keeps_what_is_stored(
    make_evaluator, triton, make_disk, folder
):
    disk = make_disk("16m")
    evaluator = make_evaluator(triton.grpc_url, store_dir=disk.folder / "store")
    evaluator.import_benchmark("shades", "image-folder", folder)
    before = evaluator.evaluate("shades", MODEL)
    disk.fill()
    message, others = refused(
        evaluator.stub.CreateRun,
        api.CreateRunRequest(run=run_of(), run_id="later"),
        UNAVAILABLE,
        "STORE_UNAVAILABLE",
    )
    assert str(disk.folder) in message
    assert "free space there" in message
    assert others == ["RetryInfo"]
    assert evaluator.report(before.run) == before
    assert health(evaluator, "readiness") == health_pb2.HealthCheckResponse.SERVING
    disk.free()
    assert evaluator.evaluate("shades", MODEL, run_id="later").metrics == before.metrics


def test_a_disk_that_fills_during_a_run_costs_no_result(
    make_evaluator, triton, make_disk, fashion_mnist
):
    """The logs lie on the same disk: lines may be lost, the run may not."""
    disk = make_disk("64m")
    evaluator = make_evaluator(triton.grpc_url, store_dir=disk.folder / "store", shard_rows=32)
    evaluator.end()
    evaluator.log_file = disk.folder / "evaluator.log"
    evaluator.start()
    evaluator.import_benchmark("fm", "fashion-mnist", fashion_mnist, queries="20", items="140")
    whole = evaluator.evaluate("fm", MODEL)
    run = evaluator.create("fm", MODEL, run_id="disturbed")
    for change in evaluator.stub.WatchRun(api.WatchRunRequest(name=run.name), timeout=60):
        if change.run.progress.done:
            break
    disk.fill()
    time.sleep(4)  # long enough for the rest of the run, if it could go on
    disk.free()
    ended = evaluator.wait(run)
    if ended.state == run_pb2.Run.FAILED:
        assert "free space" in ended.error.message
        ended = evaluator.wait(evaluator.stub.ResumeRun(api.ResumeRunRequest(name=run.name)))
    assert ended.state == run_pb2.Run.SUCCEEDED, ended.error.message
    assert evaluator.report(ended).metrics == whole.metrics
    disk.fill()
    assert evaluator.end() == 0, "a full disk does not change the exit code"


def test_an_import_that_does_not_fit_leaves_nothing_and_can_be_repeated(
    make_evaluator, triton, make_disk, fashion_mnist
):
    disk = make_disk("4m")
    evaluator = make_evaluator(triton.grpc_url, store_dir=disk.folder / "store")
    size = {"queries": "2000", "items": "10000"}
    failed = evaluator.import_benchmark("fm", "fashion-mnist", fashion_mnist, **size)
    assert failed.state == benchmark_pb2.Benchmark.FAILED
    assert reason_of(failed.error) == "STORE_UNAVAILABLE"
    assert "No space left on device; free space there" in failed.error.message
    assert list((disk.folder / "store/benchmarks").iterdir()) == []
    size = {"queries": "20", "items": "200"}
    found = evaluator.import_benchmark("fm", "fashion-mnist", fashion_mnist, **size)
    assert found.state == benchmark_pb2.Benchmark.READY, found.error.message


def test_a_store_removed_under_the_evaluator_is_said_and_takes_nothing_more(
    make_evaluator, triton, tmp_path, folder
):
    store = tmp_path / "store"
    evaluator = make_evaluator(triton.grpc_url, store_dir=store)
    evaluator.import_benchmark("shades", "image-folder", folder)
    before = evaluator.evaluate("shades", MODEL)
    shutil.rmtree(store)
    with pytest.raises(grpc.RpcError) as caught:
        evaluator.stub.CreateRun(api.CreateRunRequest(run=run_of()))
    assert str(store) in caught.value.details()
    message, _ = refused(
        evaluator.stub.DeleteRun,
        api.DeleteRunRequest(name=before.run.name),
        UNAVAILABLE,
        "STORE_UNAVAILABLE",
    )
    assert "was removed or replaced while the evaluator uses it; put it back, or restart" in message
    assert evaluator.report(before.run) == before, "what is open is still read"
    deadline = time.monotonic() + 10
    while health(evaluator, "readiness") == health_pb2.HealthCheckResponse.SERVING:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert health(evaluator, "liveness") == health_pb2.HealthCheckResponse.SERVING
    assert evaluator.end() == 0
    evaluator.start()
    assert list(evaluator.stub.ListRuns(api.ListRunsRequest()).runs) == []


def test_a_damaged_page_of_a_benchmark_fails_the_run_and_names_the_file(
    make_evaluator, triton, tmp_path, folder
):
    evaluator = make_evaluator(triton.grpc_url, store_dir=tmp_path / "store", cache_bytes=0)
    evaluator.import_benchmark("shades", "image-folder", folder)
    (path,) = (tmp_path / "store/benchmarks").glob("shades-*/collections/items.parquet")
    data = bytearray(path.read_bytes())
    at = data.index(b"\x89PNG") + 60
    data[at] ^= 0x10
    path.write_bytes(data)
    run = evaluator.wait(evaluator.create("shades", MODEL))
    assert run.state == run_pb2.Run.FAILED
    assert str(path) in run.error.message
    assert "import it again" in run.error.message
    assert reason_of(run.error) == "BENCHMARK_INVALID"


def test_a_manifest_that_was_edited_is_refused_before_the_run(
    make_evaluator, triton, models, tmp_path, folder
):
    repository = tmp_path / "models"
    shutil.copytree(models / MODEL, repository / MODEL)
    evaluator = make_evaluator(triton.grpc_url, model_repository=repository)
    evaluator.import_benchmark("shades", "image-folder", folder)
    path = repository / MODEL / "lookbench.json"
    sound = json.loads(path.read_text())
    edits = {
        "dimension": lambda m: m["output"].update(dimension=512),
        "tensor": lambda m: m["output"].update(tensor="pooled"),
        "size": lambda m: m["image"].update(height=128),
    }
    for edit in edits.values():
        manifest = json.loads(json.dumps(sound))
        edit(manifest)
        path.write_text(json.dumps(manifest))
        message, _ = refused(
            evaluator.stub.CreateRun,
            api.CreateRunRequest(run=run_of()),
            grpc.StatusCode.FAILED_PRECONDITION,
            "MODEL_CONTRACT_MISMATCH",
        )
        assert MODEL in message
    path.write_text("{")
    with pytest.raises(grpc.RpcError) as caught:
        evaluator.stub.CreateRun(api.CreateRunRequest(run=run_of()))
    assert details(caught.value)[0].reason == "MODEL_CONTRACT_MISMATCH"
    assert str(path) in caught.value.details()
