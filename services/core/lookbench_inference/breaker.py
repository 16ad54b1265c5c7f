"""Keeps requests from what does not answer, and finds out when it answers again.

in use ──trip──▶ left out, one prober asks ──well again──▶ in use
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

import structlog

SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 2.0
Part = TypeVar("Part", bound=Hashable)
T = TypeVar("T")
log = structlog.get_logger()


@dataclass
class Outage:
    """What keeps a part from being used, and since when in event-loop time."""

    problem: str
    since: float


class Breaker(Generic[Part]):
    """Parts that are left out; `probe` tells what is wrong with one, or "" when it is well.

    However many requests wait, one task asks, at intervals of 0.2 to 2 s.
    """

    def __init__(self, probe: Callable[[Part], Awaitable[str]], random: Random) -> None:
        self._probe, self._random = probe, random
        self._out: dict[Part, Outage] = {}
        self._changed = asyncio.Event()
        self._prober: asyncio.Task[None] | None = None

    def problem(self, part: Part) -> str:
        """Why the part is left out; "" when it is not."""
        outage = self._out.get(part)
        return outage.problem if outage else ""

    def trip(self, part: Part, problem: str) -> None:
        """Leaves the part out until a probe finds it well."""
        if part not in self._out:
            self._out[part] = Outage(problem, _now())
            log.warning("left out until it is well again", part=str(part), problem=problem)
        if self._prober is None or self._prober.done():
            self._prober = asyncio.create_task(
                self._ask_until_all_are_well(),
                context=contextvars.Context(),  # it logs for all runs, not for the first to fail
            )

    def restore(self, part: Part) -> None:
        """Uses the part again."""
        outage = self._out.pop(part, None)
        if outage is not None:
            log.info("well again", part=str(part), after_s=round(_now() - outage.since, 1))
            self._changed.set()
            self._changed = asyncio.Event()

    async def wait(self, find: Callable[[], T | None], until: float) -> T:
        """What `find` gives, which is asked again whenever a part is restored.

        Raises TimeoutError at `until`, in event-loop time.
        """
        while (found := find()) is None:
            async with asyncio.timeout_at(until):
                await self._changed.wait()
        return found

    async def close(self) -> None:
        """Ends the prober."""
        if self._prober is not None:
            self._prober.cancel()
            await asyncio.gather(self._prober, return_exceptions=True)

    async def _ask_until_all_are_well(self) -> None:
        bound = 2 * SHORTEST_PAUSE_S
        while self._out:
            await asyncio.sleep(self._random.uniform(SHORTEST_PAUSE_S, bound))
            bound = min(2 * bound, LONGEST_PAUSE_S)
            await asyncio.gather(*(self._ask(part) for part in list(self._out)))

    async def _ask(self, part: Part) -> None:
        try:
            problem = await self._probe(part)
        except Exception as error:
            log.exception("probe failed", part=str(part))
            problem = f"unexpected {type(error).__name__} while asking"
        if not problem:
            self.restore(part)
        elif part in self._out:
            self._out[part].problem = problem


def _now() -> float:
    return asyncio.get_running_loop().time()
