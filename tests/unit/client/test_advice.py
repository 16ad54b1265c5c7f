"""The next step after an error."""

import os

import pytest

from lbclient.advice import EARLIER, next_step
from lbclient.errors import AlreadyExists, InvalidRequest, NotReachable, RunCancelled, RunFailed
from lbclient.home import Home
from lbclient.stack.ports import Ports
from lbclient.stack.processes import Process, start_time
from lbclient.stack.record import Stack, write_stack

RUN = {"run": "runs/a"}


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def not_reachable(target="127.0.0.1:8090"):
    return NotReachable("nothing answers", metadata={"target": target})


def record(home, shift):
    names = ("triton", "evaluator")
    began = start_time(os.getpid())
    processes = tuple(Process(name, os.getpid(), began + shift, "") for name in names)
    write_stack(home, Stack(Ports(evaluator=9000), processes, "", ()))


def test_without_a_record_its_place_and_both_ways_are_named(home):
    text = next_step(not_reachable(), home)
    assert text.startswith(
        f"No stack is recorded in {home.root}; LOOKBENCH_HOME names another folder.\n"
    )
    assert "`lbclient up` or, where the compose file is deployed,\n`docker compose up -d`" in text


def test_another_server_has_nothing_to_do_with_the_record(home):
    assert "recorded" not in next_step(not_reachable("gpu:8090"), home)
    record(home, shift=1)
    assert "recorded" not in next_step(not_reachable("gpu:8090"), home)


def test_recorded_stack_that_ended_is_started_anew(home):
    record(home, shift=1)
    text = next_step(not_reachable("127.0.0.1:9000"), home)
    assert f"stack of {home.root} has ended in part or whole; `lbclient up`" in text


def test_recorded_stack_that_runs_is_looked_at(home):
    record(home, shift=0)
    assert "`lbclient status` looks" in next_step(not_reachable("127.0.0.1:9000"), home)


def test_record_that_cannot_be_read_does_not_hide_the_error(home):
    home.stack_file.write_text("{")
    assert "`lbclient up`" in next_step(not_reachable(), home)


@pytest.mark.parametrize(
    "error",
    [
        RunCancelled("x", metadata=RUN),
        RunFailed("x", code="UNAVAILABLE", metadata=RUN),
        RunFailed("x", code="DEADLINE_EXCEEDED", metadata=RUN),
        RunFailed("x", code="RESOURCE_EXHAUSTED", retryable=True, metadata=RUN),
    ],
)
def test_run_that_may_succeed_later_can_be_resumed(error, home):
    assert next_step(error, home) == (
        "`lbclient runs resume a` goes on with it, from what it has embedded."
    )


def test_run_that_had_failed_before_is_told_with_both_ways_on(home):
    error = RunFailed("x", code="FAILED_PRECONDITION", metadata={**RUN, EARLIER: "true"})
    told = next_step(error, home)
    assert told.startswith("That was before this command. `lbclient runs resume a` goes on")
    assert "another --run-id makes a new run" in told


def test_run_that_is_there_and_was_asked_otherwise_can_be_looked_at(home):
    error = AlreadyExists("x", reason="RUN_ALREADY_EXISTS", metadata={"name": "runs/a"})
    assert "`lbclient runs show a`" in next_step(error, home)


def test_run_that_would_fail_again_is_not_offered(home):
    error = RunFailed("x", code="FAILED_PRECONDITION", reason="ROWS_REJECTED", metadata=RUN)
    assert next_step(error, home) == ""
    assert next_step(InvalidRequest("x"), home) == ""
