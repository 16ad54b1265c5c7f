"""A command with --run-id, given again after lbclient was killed: the same run, code and table."""

import signal
import time

import pytest

from lookbench.v1.run_pb2 import Progress, Run

COMMAND = ("evaluate", "--benchmark", "fm", "--model", "lite0", "--run-id", "nightly")


def asked(evaluator, method):
    return [request for name, request in evaluator.calls if name == method]


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.02)


@pytest.mark.parametrize("stage", ["CreateRun", "WatchRun", "GetReport"])
def test_kill_9_at_any_stage_leaves_a_run_that_the_same_command_goes_on_with(
    start_lbclient, lbclient, evaluator, stage
):
    evaluator.held = {stage}
    process = start_lbclient(*COMMAND)
    wait_for(lambda: asked(evaluator, stage))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    evaluator.held = set()
    again = lbclient(*COMMAND)
    assert again.code == 0, again.err
    assert again.out == lbclient("report", "nightly").out
    assert list(evaluator.runs) == ["runs/nightly"]


def test_a_run_that_has_succeeded_is_printed_again(lbclient):
    first, again = lbclient(*COMMAND), lbclient(*COMMAND)
    assert (again.code, again.out) == (first.code, first.out) == (0, first.out)
    assert "it was made before, by the same command: SUCCEEDED" in again.err
    assert "made before" not in first.err
    assert "`lbclient report nightly` prints its table" in lbclient(*COMMAND, "--detach").err


@pytest.mark.parametrize("state", [Run.FAILED, Run.CANCELLED])
def test_a_run_that_failed_before_is_told_and_not_resumed(lbclient, evaluator, state):
    evaluator.script = [(state, Progress.EMBEDDING_ITEMS, 2)]
    first = lbclient(*COMMAND)
    assert first.code == 1
    assert "before this command" not in first.err
    for more in ((), ("--detach",)):
        again = lbclient(*COMMAND, *more)
        assert (again.code, again.out) == (1, "")
        assert "That was before this command. `lbclient runs resume nightly`" in again.err
    assert asked(evaluator, "ResumeRun") == []


@pytest.mark.parametrize("change", [("--cutoffs", "1"), ("--name", "other"), ("--without-noise",)])
def test_a_run_that_was_asked_otherwise_is_refused(lbclient, evaluator, change):
    lbclient(*COMMAND)
    done = lbclient(*COMMAND, *change)
    assert (done.code, done.out) == (1, "")
    assert "runs/nightly exists already" in done.err
    assert "(RUN_ALREADY_EXISTS)" in done.err
    assert "`lbclient runs show nightly` shows the one that is there" in done.err


def test_without_an_id_every_command_makes_a_run(lbclient, evaluator):
    lbclient("evaluate")
    lbclient("evaluate")
    assert len(evaluator.runs) == 2
