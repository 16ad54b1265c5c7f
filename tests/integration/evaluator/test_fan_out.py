"""Runs of a real evaluator while its Triton servers stop, are full, disagree or lie."""

import time

import grpc
import numpy as np
import pytest
from PIL import Image

from asking import reason_of, refused, run_of
from fake_triton import (
    COLOURS,
    OTHER_DIGEST,
    other_id,
    publish,
    queue_full,
    right,
    slow,
    wrong_dtype,
)
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2

ROWS = 120


def make_pictures(folder):
    """A hundred items and twenty queries of seven categories, each of colours of its own."""
    folder.mkdir()
    draw = np.random.default_rng(11)
    lines = ["id,path,split,category"]
    for number in range(ROWS):
        pixels = draw.integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
        split = "query" if number < 20 else "item"
        lines.append(f"{number},{number}.png,{split},c{number % 7}")
    (folder / "labels.csv").write_text("\n".join(lines))


@pytest.fixture
def two(fake_triton):
    return fake_triton(), fake_triton()


@pytest.fixture
def started(make_evaluator, data_root, tmp_path):
    """An evaluator of these servers, with a benchmark of 120 pictures, a shard of 8 rows each."""

    def start(*servers, **settings):
        evaluator = make_evaluator(
            ",".join(server.url for server in servers),
            model_repository=publish(tmp_path / "models"),
            **{"cache_bytes": 0, "shard_rows": 8, "request_bytes": 1024, **settings},
        )
        folder = data_root / "fanned"
        if not folder.exists():
            make_pictures(folder)
        evaluator.import_benchmark("fanned", "image-folder", folder)
        return evaluator

    return start


def begun(evaluator):
    """A run that has embedded some rows and not all."""
    run = evaluator.create("fanned", COLOURS)
    for change in evaluator.stub.WatchRun(api.WatchRunRequest(name=run.name), timeout=60):
        if change.run.progress.done:
            assert change.run.state == run_pb2.Run.RUNNING
            return run


def succeeded(evaluator, run):
    ended = evaluator.wait(run)
    assert ended.state == run_pb2.Run.SUCCEEDED, ended.error.message
    return evaluator.report(ended)


def failed(evaluator, run, reason):
    ended = evaluator.wait(run)
    assert ended.state == run_pb2.Run.FAILED
    assert reason_of(ended.error) == reason
    return ended.error.message


def log_lines(evaluator, words):
    return [line for line in evaluator.log_file.read_text().splitlines() if words in line]


def test_a_run_goes_on_with_the_other_server(two, started):
    evaluator = started(*two)
    undisturbed = evaluator.evaluate("fanned", COLOURS)
    for server in two:
        server.behaviour = slow(0.1)
    run = begun(evaluator)
    two[0].stop()
    assert succeeded(evaluator, run).metrics == undisturbed.metrics
    assert min(server.seen.rows for server in two) > ROWS / 3


def test_a_run_waits_until_servers_that_all_went_are_back(two, started):
    evaluator = started(*two)
    undisturbed = evaluator.evaluate("fanned", COLOURS)
    for server in two:
        server.behaviour = slow(0.1)
        server.forget()
    run = begun(evaluator)
    for server in two:
        server.stop()
    time.sleep(3)
    began = time.monotonic()
    for _ in range(20):  # answered at once meanwhile
        assert evaluator.stub.GetRun(api.GetRunRequest(name=run.name)).state == run_pb2.Run.RUNNING
    found = evaluator.stub.ListModels(api.ListModelsRequest(), timeout=5)
    assert not any(model.ready for model in found.models)
    assert time.monotonic() - began < 3
    two[1].start()
    assert succeeded(evaluator, run).metrics == undisturbed.metrics
    assert len(log_lines(evaluator, "left out until it is well again")) == 2
    assert len(log_lines(evaluator, "well again  ")) == 1


def test_a_run_whose_servers_stay_away_says_how_to_go_on_and_goes_on_there(two, started):
    evaluator = started(*two, triton_patience_s=2)
    undisturbed = evaluator.evaluate("fanned", COLOURS)
    for server in two:
        server.behaviour = slow(0.1)
        server.forget()
    run = begun(evaluator)
    for server in two:
        server.stop()
    began = time.monotonic()
    message = failed(evaluator, run, "TRITON_UNAVAILABLE")
    assert 1.5 < time.monotonic() - began < 10
    assert "waited 2 s" in message
    assert "`lbclient runs resume <run>`" in message
    assert all(server.url in message for server in two)
    done = sum(server.seen.rows for server in two)
    for server in two:
        server.behaviour = right
        server.start()
    resumed = evaluator.stub.ResumeRun(api.ResumeRunRequest(name=run.name), timeout=30)
    assert succeeded(evaluator, resumed).metrics == undisturbed.metrics
    in_flight, self_check = 4 * 2, 60
    assert sum(server.seen.rows for server in two) <= ROWS + done + in_flight + self_check
    assert sum(server.seen.rows for server in two) - done < ROWS


def test_a_full_queue_is_no_failure(two, started):
    evaluator = started(two[0])
    undisturbed = evaluator.evaluate("fanned", COLOURS)
    two[0].next(queue_full, times=12)
    assert evaluator.evaluate("fanned", COLOURS).metrics == undisturbed.metrics


@pytest.mark.parametrize(
    ("fault", "words"), [(other_id, "with the answer of not-"), (wrong_dtype, "float64")]
)
def test_wrong_answers_fail_the_run_and_the_reason_names_the_model(two, started, fault, words):
    evaluator = started(*two)
    evaluator.evaluate("fanned", COLOURS)
    two[1].behaviour = fault
    message = failed(evaluator, evaluator.create("fanned", COLOURS), "MODEL_OUTPUT_INVALID")
    assert COLOURS in message
    assert words in message


def test_servers_with_different_graphs_are_refused_by_name(two, started):
    evaluator = started(*two)
    two[1].change(COLOURS, digest=OTHER_DIGEST)
    message, _ = refused(
        evaluator.stub.CreateRun,
        api.CreateRunRequest(run=run_of("fanned", COLOURS)),
        grpc.StatusCode.FAILED_PRECONDITION,
        "MODEL_CONTRACT_MISMATCH",
    )
    assert all(server.url in message for server in two)
    assert OTHER_DIGEST in message


def test_a_server_that_comes_back_with_another_graph_is_left_out(two, started):
    evaluator = started(*two)
    undisturbed = evaluator.evaluate("fanned", COLOURS)
    for server in two:
        server.behaviour = slow(0.1)
    run = begun(evaluator)
    two[0].stop()
    two[0].change(COLOURS, digest=OTHER_DIGEST)
    two[0].forget()
    two[0].start()
    ended = evaluator.wait(run)
    assert two[0].seen.accepted == 0
    # The end of a run asks all servers once more, and says what it finds.
    if ended.state == run_pb2.Run.SUCCEEDED:
        assert evaluator.report(ended).metrics == undisturbed.metrics
    else:
        assert reason_of(ended.error) == "MODEL_CONTRACT_MISMATCH"


def test_shared_memory_that_was_asked_for_and_is_not_there_refuses_runs(two, started):
    two[0].takes_shared_memory = False
    evaluator = started(two[0], shared_memory="on")
    message, _ = refused(
        evaluator.stub.CreateRun,
        api.CreateRunRequest(run=run_of("fanned", COLOURS)),
        grpc.StatusCode.FAILED_PRECONDITION,
        "SHARED_MEMORY_UNAVAILABLE",
    )
    assert "Unable to open shared memory region" in message
    assert "shared_memory=auto" in message
