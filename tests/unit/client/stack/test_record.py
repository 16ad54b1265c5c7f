"""The record of the local stack."""

import json
import os

import pytest

from lbclient.errors import StackError
from lbclient.home import Home
from lbclient.stack.ports import Ports
from lbclient.stack.processes import Process, start_time
from lbclient.stack.record import Stack, locked, read_stack, remove_stack, write_stack


def this_process(name="evaluator", shift=0):
    return Process(name, os.getpid(), start_time(os.getpid()) + shift, "/tmp/x.log")


def stack(*processes):
    return Stack(Ports(evaluator=9000), processes, "/models", ("/data", "/usr/share/datasets"))


def test_record_comes_back_as_it_was_written(tmp_path):
    home, written = Home(tmp_path), stack(this_process())
    write_stack(home, written)
    assert read_stack(home) == written
    assert [path.name for path in tmp_path.iterdir()] == ["stack.json"]


def test_no_record_is_none(tmp_path):
    home = Home(tmp_path)
    assert read_stack(home) is None
    remove_stack(home)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"version": 2}', '"x"', "null"])
def test_record_that_is_not_ours_is_named(tmp_path, text):
    home = Home(tmp_path)
    home.stack_file.write_text(text)
    with pytest.raises(StackError, match=r"stack\.json is not a record of a local stack"):
        read_stack(home)


def test_process_with_another_start_time_is_not_ours():
    """The pid was used again."""
    assert stack(this_process(), this_process("triton")).is_whole()
    reused = stack(this_process(shift=1))
    assert reused.alive() == ()
    assert not reused.is_whole()


def test_stack_of_one_process_is_not_whole():
    """`up` was killed between the two starts."""
    assert not stack(this_process("triton")).is_whole()


def test_record_of_an_earlier_version_kept_its_ports(tmp_path):
    home = Home(tmp_path)
    write_stack(home, stack())
    record = json.loads(home.stack_file.read_text())
    del record["any_ports"]
    home.stack_file.write_text(json.dumps(record))
    assert read_stack(home) == stack()


def test_pid_that_does_not_exist_is_not_alive():
    assert stack(Process("triton", 2**22 + 1, 5, "")).alive() == ()


def test_two_commands_at_once_are_refused(tmp_path):
    home = Home(tmp_path / "home")
    with locked(home), pytest.raises(StackError, match="another lbclient"), locked(home):
        pass
    with locked(home):
        pass


def test_home_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StackError, match="LOOKBENCH_HOME"), locked(Home(tmp_path / "file")):
        pass
