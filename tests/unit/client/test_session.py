"""Which server is meant."""

import os

from lbclient.home import Home
from lbclient.session import Session
from lbclient.stack.ports import Ports
from lbclient.stack.processes import Process, start_time
from lbclient.stack.record import Stack, write_stack


def test_server_is_the_one_named_then_the_stack_then_the_default(tmp_path):
    home = Home(tmp_path)
    assert Session(home).target() == "127.0.0.1:8090"
    process = Process("evaluator", os.getpid(), start_time(os.getpid()), "")
    write_stack(home, Stack(Ports(evaluator=9000), (process,), "", ()))
    assert Session(home).target() == "127.0.0.1:9000"
    assert Session(home, "example.org:1").target() == "example.org:1"
