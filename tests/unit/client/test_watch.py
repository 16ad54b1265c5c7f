"""Watching a run: order, lost connections, giving up. Streams are scripted, nothing sleeps long."""

import asyncio

import grpc
import pytest
from google.rpc import status_pb2
from google.rpc.code_pb2 import Code

from lbclient.errors import NotFound, NotReachable, RunCancelled, RunFailed
from lbclient.watch import RunWatch, WatchPolicy, is_finished, raise_unless_succeeded
from lookbench.v1.evaluation_service_pb2 import WatchRunResponse
from lookbench.v1.run_pb2 import Run

FAST = WatchPolicy(patience=5.0, first_patience=0.0, quiet=5.0, first_delay=0.0, max_delay=0.0)
LOST = NotReachable("gone", code="UNAVAILABLE")


def run(revision, state=Run.RUNNING):
    return Run(name="runs/x", revision=revision, state=state)


class ScriptedStream:
    """Gives each step of its script: a run, an error, or silence (None); then the end."""

    def __init__(self, steps):
        self._steps = list(steps)
        self.cancelled = False

    async def read(self):
        if not self._steps:
            return grpc.aio.EOF
        step = self._steps.pop(0)
        if step is None:
            await asyncio.Event().wait()
        if isinstance(step, Exception):
            raise step
        return WatchRunResponse(run=step)

    def cancel(self):
        self.cancelled = True
        return True


class Server:
    """Opens one scripted stream after the other."""

    def __init__(self, *scripts, current=None):
        self.streams = [ScriptedStream(script) for script in scripts]
        self.opened = 0
        self.asked = 0
        self._current = current

    def open_stream(self):
        self.opened += 1
        return self.streams[self.opened - 1]

    async def get_run(self):
        self.asked += 1
        return self._current

    def watch(self, policy=FAST, **options):
        return RunWatch("h:1", self.open_stream, self.get_run, policy, **options).states()


async def revisions(states):
    return [state.revision async for state in states]


async def test_states_come_until_the_run_has_ended():
    server = Server([run(1), run(2), run(3, Run.SUCCEEDED)])
    assert await revisions(server.watch()) == [1, 2, 3]
    assert server.streams[0].cancelled


async def test_lost_stream_is_opened_again_and_no_state_comes_twice():
    server = Server([run(1), run(2), LOST], [run(2), run(4, Run.SUCCEEDED)])
    lost = []
    assert await revisions(server.watch(on_lost=lost.append)) == [1, 2, 4]
    assert lost == [LOST]


async def test_stream_that_closes_before_the_end_is_opened_again():
    server = Server([run(1)], [run(1), run(2, Run.CANCELLED)])
    assert await revisions(server.watch()) == [1, 2]


async def test_loss_is_told_once_until_the_server_is_met_again():
    server = Server([run(1), LOST], [LOST], [LOST], [run(2), LOST], [run(3, Run.FAILED)])
    lost = []
    await revisions(server.watch(on_lost=lost.append))
    assert len(lost) == 2


async def test_server_that_was_never_met_is_given_up_soon():
    server = Server(*[[LOST]] * 50)
    with pytest.raises(NotReachable):
        await revisions(server.watch())


async def test_known_run_is_waited_for_from_the_start():
    server = Server([LOST], [LOST], [run(1, Run.SUCCEEDED)])
    assert await revisions(server.watch(met=True)) == [1]


async def test_patience_ends():
    policy = WatchPolicy(patience=0.0, quiet=5.0, first_delay=0.0, max_delay=0.0)
    server = Server([run(1), LOST], *[[LOST]] * 50)
    with pytest.raises(NotReachable):
        await revisions(server.watch(policy))


async def test_error_of_the_server_ends_the_watch_at_once():
    server = Server([run(1), NotFound("deleted", code="NOT_FOUND", reason="RUN_NOT_FOUND")])
    with pytest.raises(NotFound):
        await revisions(server.watch())
    assert server.opened == 1


async def test_silence_is_checked_with_a_call_and_the_stream_opened_again():
    policy = WatchPolicy(quiet=0.01, first_delay=0.0, max_delay=0.0)
    server = Server([run(1), None], [run(3, Run.SUCCEEDED)], current=run(2))
    assert await revisions(server.watch(policy)) == [1, 2, 3]
    assert server.asked == 1
    assert server.streams[0].cancelled


def test_finished_states_are_these_three():
    finished = {state for state in Run.State.values() if is_finished(Run(state=state))}
    assert finished == {Run.SUCCEEDED, Run.FAILED, Run.CANCELLED}


def test_failed_run_raises_its_own_error():
    error = status_pb2.Status(code=Code.Value("UNAVAILABLE"), message="Triton is gone")
    with pytest.raises(RunFailed, match=r"^runs/x failed: Triton is gone$") as caught:
        raise_unless_succeeded(Run(name="runs/x", state=Run.FAILED, error=error))
    assert caught.value.code == "UNAVAILABLE"


def test_cancelled_run_raises():
    with pytest.raises(RunCancelled):
        raise_unless_succeeded(run(1, Run.CANCELLED))


def test_succeeded_run_does_not_raise():
    raise_unless_succeeded(run(1, Run.SUCCEEDED))


async def test_server_that_ended_for_good_is_not_waited_for():
    server = Server([run(1), LOST], [run(2), LOST], [])
    endings = [None, NotReachable("the process has ended")]
    lost = []
    states = server.watch(on_lost=lost.append, ended=lambda: endings.pop(0))
    with pytest.raises(NotReachable, match="the process has ended"):
        await revisions(states)
    assert server.opened == 2
    assert lost == [LOST]
