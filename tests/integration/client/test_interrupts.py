"""Ctrl-C at every stage of every command that changes something: what goes on is said."""

import signal
import time

import pytest

from lookbench.v1.benchmark_pb2 import Benchmark

EVALUATE = ("evaluate", "--benchmark", "fm", "--run-id", "n1")
IMPORT = ("benchmarks", "import", "shop", "--format", "beir", "--path", "d")
STAGES = [
    (EVALUATE, "ListModels", "No run was created."),
    (EVALUATE, "CreateRun", "The run may be queued; `lbclient runs show n1` looks"),
    (EVALUATE[:3], "CreateRun", "The run may be queued; `lbclient runs list` shows"),
    (EVALUATE, "WatchRun", "runs/n1 goes on at the server."),
    (EVALUATE, "GetReport", "runs/n1 has finished; `lbclient report n1` prints its table."),
    (("runs", "watch", "n0"), "WatchRun", "runs/n0 goes on at the server."),
    (("runs", "watch", "n0"), "GetReport", "runs/n0 has finished; `lbclient report n0`"),
    (("runs", "resume", "n0"), "ResumeRun", "runs/n0 may be queued again; `lbclient runs show n0`"),
    (("runs", "cancel", "n0"), "CancelRun", "runs/n0 may be cancelled; `lbclient runs show n0`"),
    (("runs", "delete", "n0"), "DeleteRun", "runs/n0 may be deleted; `lbclient runs show n0`"),
    (IMPORT, "ImportBenchmark", "The import may have begun; `lbclient benchmarks show shop`"),
    (IMPORT, "GetBenchmark", "The import goes on at the server; `lbclient benchmarks show shop`"),
]


@pytest.fixture
def held(evaluator, lbclient, start_lbclient):
    """A function: starts a command and returns once the server holds its answer."""
    lbclient("evaluate", "--detach", "--run-id", "n0")
    evaluator.calls.clear()

    def start(command, method):
        evaluator.held = {method}
        process = start_lbclient(*command)
        deadline = time.monotonic() + 20
        while method not in [name for name, _ in evaluator.calls]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return process

    return start


@pytest.mark.parametrize(("command", "method", "said"), STAGES)
def test_ctrl_c_says_what_goes_on_and_harms_nothing(
    held, lbclient, evaluator, command, method, said
):
    process = held(command, method)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert f"Interrupted. {said}" in err
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    if method != "CancelRun":
        assert "CancelRun" not in [name for name, _ in evaluator.calls]


@pytest.mark.parametrize("pause", [0.0, 0.02, 0.1])
@pytest.mark.parametrize(("command", "method", "said"), STAGES[1:5:3])
def test_a_second_ctrl_c_changes_neither_words_nor_code(held, command, method, said, pause):
    process = held(command, method)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(pause)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert f"Interrupted. {said}" in err
    assert "Traceback" not in err


def test_after_any_of_it_the_same_command_prints_the_table(held, lbclient, evaluator):
    for method in ("CreateRun", "WatchRun"):
        process = held(EVALUATE, method)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        evaluator.calls.clear()
    evaluator.held = set()
    done = lbclient(*EVALUATE)
    assert done.code == 0, done.err
    assert "0.6667" in done.out
    assert sorted(evaluator.runs) == ["runs/n0", "runs/n1"]


def test_an_import_goes_on_after_ctrl_c(held, lbclient, evaluator):
    process = held(IMPORT, "GetBenchmark")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    evaluator.held = set()
    assert lbclient("benchmarks", "show", "shop", "--json").json["state"] == "READY"
    assert evaluator.benchmarks[-1].state == Benchmark.READY
