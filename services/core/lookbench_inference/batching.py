"""Cutting work into requests, and keeping a bounded number of them under way."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from lookbench_inference.errors import InferenceFailed

Job = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Admission:
    """What one model is given at once, by all runs together.

    room: held by a request from before it is prepared until it is answered, so
        that prepared tensors do not pile up in memory before a slow server.
    slots: held while the server is asked. There is more room than slots: what
        is prepared waits for the server, and the server waits for nothing.
    """

    room: asyncio.Semaphore
    slots: asyncio.Semaphore

    @classmethod
    def of(cls, in_flight: int, ahead: int) -> Self:
        """`in_flight` requests under way, `ahead` more prepared or being prepared."""
        return cls(asyncio.Semaphore(in_flight + ahead), asyncio.Semaphore(in_flight))


def split(count: int, item_bytes: int, max_items: int, max_bytes: int) -> Iterator[slice]:
    """Slices of range(count), none over `max_items` or `max_bytes`.

    An item that alone exceeds `max_bytes` gets a request of its own: the limit
    shapes requests, it does not refuse work.
    """
    step = max(1, min(max_items, max_bytes // max(item_bytes, 1)))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def split_by_length(
    lengths: Sequence[int], max_items: int, max_tokens: int
) -> Iterator[npt.NDArray[np.int64]]:
    """Groups of indices with similar lengths, so that little is padded.

    No group has more than `max_items` indices, nor more than `max_tokens`
    tokens once padded to its longest member (a single longer one excepted).
    """
    group: list[int] = []
    for index in np.argsort(np.asarray(lengths), kind="stable").tolist():
        padded = lengths[index] * (len(group) + 1)
        if group and (len(group) == max_items or padded > max_tokens):
            yield np.asarray(group)
            group = []
        group.append(index)
    if group:
        yield np.asarray(group)


async def run_bounded(jobs: Iterable[Job], limit: int) -> None:
    """Runs the jobs, at most `limit` at a time, taking each from `jobs` when it starts.

    The first failure cancels the others, waits until they have ended, and is raised.
    """
    pending = iter(jobs)

    async def work() -> None:
        for job in pending:
            await job()

    try:
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(work()) for _ in range(limit)]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    if any(worker.cancelled() for worker in workers):
        # A task group takes a cancelled child for a finished one; its work is missing.
        raise InferenceFailed("a request was cancelled from outside; nothing of it is used")
