"""Fault A21: workers that hang on their first call because a channel was opened before a fork."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("asking_workers.py")
ANSWER = "(1, 12)"


@pytest.fixture
def workers(fake_triton):
    """What four workers and, last, the parent print."""
    server = fake_triton()

    def run(how, parent):
        command = [sys.executable, str(PROGRAM), server.url, how, parent]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_workers_with_clients_of_their_own_all_get_an_answer(workers, how):
    assert workers(how, "none") == [ANSWER] * 4


def test_spawned_workers_are_not_hindered_by_the_parents_client(workers):
    assert workers("spawn", "open") == [ANSWER] * 5


def test_workers_forked_from_a_parent_with_an_open_client_say_so_and_do_not_hang_it(workers):
    *told, parent = workers("fork", "open")
    assert parent == ANSWER
    assert len(told) == 4
    for line in told:
        assert line.startswith("RuntimeError: cannot ask Triton at 127.0.0.1:")
        assert "forked while a client was open" in line
        assert "TOO LATE" not in line
