"""Recognising processes and reading logs."""

import os

from lbclient.stack.processes import Process, is_alive, start_time, tail


def test_start_time_of_a_process_that_is_not_there_is_none():
    assert start_time(2**22 + 1) is None


def test_this_process_is_alive():
    assert is_alive(Process("x", os.getpid(), start_time(os.getpid()), ""))


def test_tail_is_the_end_and_indented(tmp_path):
    log = tmp_path / "x.log"
    log.write_bytes(b"first\n" + b"x" * 70_000 + b"\nlast \xff\n")
    assert tail(log, lines=1) == "    last �"
    assert tail(tmp_path / "missing") == ""
