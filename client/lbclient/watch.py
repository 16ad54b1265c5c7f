"""Watching a run across lost connections and restarts of the server."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from lbclient.errors import (
    LookbenchClientError,
    NotReachable,
    RunCancelled,
    RunFailed,
    error_from_status,
    is_connection_loss,
    translated,
)
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1.run_pb2 import Run

_FINISHED = frozenset({Run.SUCCEEDED, Run.FAILED, Run.CANCELLED})


@dataclass(frozen=True)
class WatchPolicy:
    """When a watch asks again, and when it gives up. All in seconds.

    patience: how long the connection may stay lost; first_patience: the same
    before the server was met at all. quiet: silence after which the server is
    asked whether it is still there. Delays between attempts grow from
    `first_delay` to `max_delay`.
    """

    patience: float = 120.0
    first_patience: float = 1.0
    quiet: float = 60.0
    first_delay: float = 0.2
    max_delay: float = 5.0


class Stream(Protocol):
    """The part of grpc.aio's stream call that a watch needs."""

    async def read(self) -> object:
        """The next WatchRunResponse, or grpc.aio.EOF."""
        ...

    def cancel(self) -> bool:
        """Hangs up."""
        ...


OnLost = Callable[[LookbenchClientError], None]
Ended = Callable[[], LookbenchClientError | None]
"""Asked while the connection is lost; an error says that waiting for the server is in vain."""


def is_finished(run: Run) -> bool:
    """Whether the run has ended: SUCCEEDED, FAILED or CANCELLED."""
    return run.state in _FINISHED


def raise_unless_succeeded(run: Run) -> None:
    """Raises RunFailed or RunCancelled for a run that ended that way.

    The error's metadata names the `run`.
    """
    if run.state == Run.CANCELLED:
        raise RunCancelled(f"{run.name} was cancelled", metadata={"run": run.name})
    if run.state == Run.FAILED:
        error = error_from_status(run.error, RunFailed)
        error.message = f"{run.name} failed: {error.message or 'the server gave no reason'}"
        error.args = (error.message,)
        error.metadata = {**error.metadata, "run": run.name}
        raise error


class RunWatch:
    """One watch of one run. Yields each state of the run once, in order of its revision.

    met: whether the server has already answered about this run.
    """

    def __init__(
        self,
        target: str,
        open_stream: Callable[[], Stream],
        get_run: Callable[[], Awaitable[Run]],
        policy: WatchPolicy,
        *,
        met: bool = False,
        on_lost: OnLost | None = None,
        ended: Ended | None = None,
    ) -> None:
        self._target = target
        self._open_stream = open_stream
        self._get_run = get_run
        self._policy = policy
        self._met = met
        self._on_lost = on_lost
        self._ended = ended
        self._revision = -1
        self._lost_since: float | None = None
        self._delay = policy.first_delay

    async def states(self) -> AsyncIterator[Run]:
        """The run as it is now, then each change, until it has ended.

        Raises the last error when the connection stays lost for longer than
        the policy's patience, what `ended` gives, and any other error of the
        server at once.
        """
        while True:
            async with aclosing(self._until_lost()) as runs:
                async for run in runs:
                    if run.revision > self._revision or is_finished(run):
                        self._revision = max(run.revision, self._revision)
                        yield run
                    if is_finished(run):
                        return

    async def _until_lost(self) -> AsyncGenerator[Run]:
        """States from one stream; returns after a pause when that stream broke."""
        try:
            async with aclosing(self._one_stream()) as runs:
                async for run in runs:
                    self._met, self._lost_since = True, None
                    self._delay = self._policy.first_delay
                    yield run
                    if is_finished(run):
                        return
            raise NotReachable(
                f"{self._target} closed the watch before the run had ended",
                metadata={"target": self._target},
            )
        except LookbenchClientError as error:
            if not (is_connection_loss(error) or error.retryable):
                raise
            await self._pause(error)

    async def _one_stream(self) -> AsyncGenerator[Run]:
        stream = self._open_stream()
        try:
            while True:
                answer = await self._read(stream)
                if answer is None:
                    # Silence is either a run that waits or a connection that is dead
                    # without knowing; a call with a deadline tells which.
                    yield await self._get_run()
                    stream.cancel()
                    stream = self._open_stream()
                elif isinstance(answer, api.WatchRunResponse):
                    yield answer.run
                else:
                    return
        finally:
            stream.cancel()

    async def _read(self, stream: Stream) -> object | None:
        """The next message or the end mark; None after `quiet` seconds of silence."""
        with translated(self._target):
            try:
                return await asyncio.wait_for(stream.read(), self._policy.quiet)
            except TimeoutError:
                return None

    async def _pause(self, error: LookbenchClientError) -> None:
        if self._ended is not None and (final := self._ended()) is not None:
            raise final from error
        now = monotonic()
        if self._lost_since is None:
            self._lost_since = now
            if self._on_lost is not None:
                self._on_lost(error)
        patience = self._policy.patience if self._met else self._policy.first_patience
        if now - self._lost_since > patience:
            raise error
        # Jitter, so that many watchers do not return to a restarted server at once.
        await asyncio.sleep(self._delay * random.uniform(0.5, 1.0))  # noqa: S311
        self._delay = min(self._policy.max_delay, self._delay * 2)
