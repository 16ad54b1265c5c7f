"""Following a run while it changes, without driving it."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable

from lookbench_evaluator.errors import ShuttingDown
from lookbench_evaluator.runs.model import Run

MIN_INTERVAL_S = 0.25


class RunWatch:
    """Wakes the watchers of a run when it was stored. Created inside the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._watchers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._stopping = False

    def stop(self) -> None:
        """Ends all watching with ShuttingDown, so that it does not hold up the server's end."""
        self._stopping = True
        for event in [event for events in self._watchers.values() for event in events]:
            event.set()

    def notify(self, run: Run) -> None:
        """Tells the watchers, from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, run.id)

    def _wake(self, run_id: str) -> None:
        for event in self._watchers.get(run_id, ()):
            event.set()

    async def follow(self, run_id: str, read: Callable[[str], Run]) -> AsyncIterator[Run]:
        """The run as it is now, then after changes, until it has ended.

        Each has a larger revision than the one before; changes closer together
        than MIN_INTERVAL_S are told as one. Raises ShuttingDown.
        """
        changed = asyncio.Event()
        self._watchers[run_id].add(changed)
        try:
            seen = 0
            while True:
                changed.clear()
                run = await asyncio.to_thread(read, run_id)
                if run.revision > seen:
                    seen = run.revision
                    yield run
                if run.state.terminal:
                    return
                await changed.wait()
                if self._stopping:
                    raise ShuttingDown(
                        f"the evaluator is stopping; watch runs/{run_id} again when it is back",
                        name=f"runs/{run_id}",
                    )
                await asyncio.sleep(MIN_INTERVAL_S)
        finally:
            self._watchers[run_id].discard(changed)
            if not self._watchers[run_id]:
                del self._watchers[run_id]
