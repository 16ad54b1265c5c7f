"""Fault A21: a client is open, four workers are forked, and each sends one request.

All answer or say why they cannot, none hangs, and the parent's client goes on.
"""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("forking.py")
ANSWER = "models/lite0"
REFUSAL = "Forked: this process was forked while a client was open"


@pytest.fixture
def fork(server):
    """A function: the lines that workers and parent print, at most 30 s later."""

    def run(how, what):
        done = subprocess.run(
            [sys.executable, PROGRAM, server.target, how, what],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout.split("\n")[:-1]

    return run


@pytest.mark.parametrize("how", ["os.fork", "fork"])
@pytest.mark.parametrize("what", ["same", "new"])
def test_no_client_works_in_a_child_of_an_open_one_and_it_says_so(fork, how, what):
    first, *workers, last = fork(how, what)
    assert (first, last) == (ANSWER, ANSWER)
    assert len(workers) == 4
    for told in workers:
        assert told.startswith(REFUSAL)
        assert 'multiprocessing.get_context("spawn")' in told
        assert "TOO LATE" not in told


@pytest.mark.parametrize("how", ["os.fork", "fork"])
@pytest.mark.parametrize("what", ["close", "drop"])
def test_a_child_that_closes_or_drops_its_copy_leaves_the_parents_alone(fork, how, what):
    lines = fork(how, what)
    assert lines[0] == lines[-1] == ANSWER
    assert len(lines) == 6


@pytest.mark.parametrize("how", ["os.fork", "fork"])
@pytest.mark.parametrize("what", ["closed", "unused", "plain-grpc"])
def test_clients_opened_after_the_fork_work(fork, how, what):
    """Also where gRPC was used before: by a client that was closed, or without asyncio."""
    workers = fork(how, what)
    assert set(workers) == {ANSWER}
    assert len(workers) >= 4


def test_spawned_workers_work(fork):
    assert fork("spawn", "same") == [ANSWER] * 6
