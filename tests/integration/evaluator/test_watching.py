"""lbclient watches while a real evaluator is killed and started again: the table comes."""

import os
import subprocess
import sys
import time

import pytest

from asking import make_folder
from fake_triton import COLOURS, publish, right, slow
from lookbench.v1 import evaluation_service_pb2 as api

MODEL = ("--benchmark", "watched", "--model", COLOURS)


@pytest.fixture
def server(fake_triton):
    return fake_triton()


@pytest.fixture
def evaluator(make_evaluator, server, data_root, tmp_path):
    evaluator = make_evaluator(
        server.url,
        model_repository=publish(tmp_path / "models"),
        cache_bytes=0,
        shard_rows=8,
        in_flight=1,
    )
    folder = data_root / "watched"
    if not folder.exists():
        rows = [(f"i{n}", "item", "dark" if n < 12 else "light") for n in range(24)]
        make_folder(folder, [*rows, ("q0", "query", "dark"), ("q1", "query", "light")])
    evaluator.import_benchmark("watched", "image-folder", folder)
    return evaluator


@pytest.fixture
def lbclient(evaluator, tmp_path):
    """A function: starts a command against the evaluator."""
    started = []
    environment = {**os.environ, "LOOKBENCH_HOME": str(tmp_path / "home")}

    def start(*arguments):
        command = [sys.executable, "-m", "lbclient", "--server", f"127.0.0.1:{evaluator.port}"]
        process = subprocess.Popen(
            [*command, *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def halfway(evaluator, name):
    """Until the run has embedded something, but not all."""
    deadline = time.monotonic() + 30
    while True:
        run = evaluator.stub.GetRun(api.GetRunRequest(name=f"runs/{name}"))
        if 0 < run.progress.done < run.progress.total:
            return
        assert time.monotonic() < deadline, run
        time.sleep(0.02)


def test_evaluate_and_watch_go_on_over_a_kill_of_the_evaluator(evaluator, server, lbclient):
    plain, _ = lbclient("evaluate", *MODEL, "--run-id", "undisturbed").communicate(timeout=60)
    server.behaviour = slow(0.5)
    evaluating = lbclient("evaluate", *MODEL, "--run-id", "disturbed")
    while not created(evaluator, "disturbed"):
        time.sleep(0.05)
    watching = lbclient("runs", "watch", "disturbed")
    halfway(evaluator, "disturbed")
    evaluator.end(kill=True)
    time.sleep(0.5)
    server.behaviour = right
    evaluator.start()
    for process in (evaluating, watching):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert "the run goes on there, connecting again" in err
        assert out.replace("runs/disturbed", "runs/undisturbed") == plain
    run = evaluator.stub.GetRun(api.GetRunRequest(name="runs/disturbed"))
    assert run.progress.done == run.progress.total == 26
    assert run.progress.resumed > 0, "committed shards are not embedded again"


def test_the_same_command_after_kill_9_of_lbclient_gives_the_same_run_and_table(
    evaluator, server, lbclient
):
    server.behaviour = slow(0.3)
    first = lbclient("evaluate", *MODEL, "--run-id", "repeated")
    while not created(evaluator, "repeated"):
        time.sleep(0.05)
    halfway(evaluator, "repeated")
    first.kill()
    first.communicate()
    server.behaviour = right
    tables = []
    for _ in range(2):
        again = lbclient("evaluate", *MODEL, "--run-id", "repeated")
        out, err = again.communicate(timeout=60)
        assert again.returncode == 0, err
        tables.append(out)
    assert tables[0] == tables[1]
    assert len(evaluator.stub.ListRuns(api.ListRunsRequest()).runs) == 1
    other = lbclient("evaluate", *MODEL, "--run-id", "repeated", "--cutoffs", "3")
    _, err = other.communicate(timeout=60)
    assert other.returncode == 1
    assert "RUN_ALREADY_EXISTS" in err


def created(evaluator, name):
    runs = evaluator.stub.ListRuns(api.ListRunsRequest()).runs
    return f"runs/{name}" in {run.name for run in runs}
