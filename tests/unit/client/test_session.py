"""Which server is meant."""

import os

from lbclient.home import Home
from lbclient.session import Session
from lbclient.stack.ports import Ports
from lbclient.stack.processes import Process, start_time
from lbclient.stack.record import Stack, remove_stack, write_stack


def test_server_is_the_one_named_then_the_stack_then_the_default(tmp_path):
    home = Home(tmp_path)
    assert Session(home).target() == "127.0.0.1:8090"
    process = Process("evaluator", os.getpid(), start_time(os.getpid()), "")
    write_stack(home, Stack(Ports(evaluator=9000), (process,), "", ()))
    assert Session(home).target() == "127.0.0.1:9000"
    assert Session(home, "example.org:1").target() == "example.org:1"


def evaluator(pid=None, shift=0):
    pid = pid or os.getpid()
    return Process("evaluator", pid, start_time(pid) + shift, "")


def record(home, *processes, port=9000):
    write_stack(home, Stack(Ports(evaluator=port), processes, "", ()))


def test_evaluator_that_dies_has_ended_until_another_is_started(tmp_path):
    home = Home(tmp_path)
    record(home, evaluator(shift=1))  # a process that is gone
    ended = Session(home).local_evaluator_ended()
    assert ended()
    record(home)  # Triton starts
    assert not ended()
    record(home, evaluator())
    assert not ended()
    remove_stack(home)  # `down`
    assert ended()


def test_evaluator_that_runs_or_is_not_ours_has_not_ended(tmp_path):
    home = Home(tmp_path)
    assert not Session(home).local_evaluator_ended()()
    record(home, evaluator())
    assert not Session(home).local_evaluator_ended()()
    record(home, evaluator(shift=1))
    assert not Session(home, "gpu:8090").local_evaluator_ended()()
