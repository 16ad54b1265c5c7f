"""Whose run is next: callers take turns, each in the order of its own runs."""

import asyncio
from collections import Counter, deque


class FairQueue:
    """Waiting runs of several callers.

    The next run is of the caller that has the fewest under way; among equals, of the
    one whose last turn is longest ago. So a caller with one run does not wait for
    another's hundred.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[str]] = {}
        self._under_way: Counter[str] = Counter()
        self._last_turn: dict[str, int] = {}
        self._turn = 0
        self._filled = asyncio.Event()

    def put(self, caller: str, run_id: str) -> None:
        """Adds a run behind the caller's others; one that waits already stays where it is."""
        runs = self._waiting.setdefault(caller, deque())
        if run_id not in runs:
            runs.append(run_id)
        self._filled.set()

    async def get(self) -> tuple[str, str]:
        """(caller, run) of the next turn, as soon as there is one; `done` ends the turn."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        caller = min(self._waiting, key=self._claim)
        runs = self._waiting[caller]
        run_id = runs.popleft()
        if not runs:
            del self._waiting[caller]
        self._turn += 1
        self._last_turn[caller] = self._turn
        self._under_way[caller] += 1
        return caller, run_id

    def done(self, caller: str) -> None:
        """Ends a turn of the caller's."""
        self._under_way[caller] -= 1
        if not self._under_way[caller] and caller not in self._waiting:
            del self._under_way[caller]
            del self._last_turn[caller]

    def _claim(self, caller: str) -> tuple[int, int]:
        return self._under_way[caller], self._last_turn.get(caller, 0)
