"""Counting the rows of a run and telling how long the rest will take."""

import time
from collections.abc import Callable

from lookbench_evaluator.runs.model import Progress, Stage


class Tracker:
    """Progress of one run.

    The rate is that of the current stage, so that the time of one stage is
    never promised from the speed of another.
    """

    def __init__(self, rejected: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._progress = Progress(rejected=rejected)
        self._stage_start, self._stage_done = clock(), 0

    def expect(self, total: int) -> None:
        """Sets how many rows there are in all."""
        self._set(total=total)

    def enter(self, stage: Stage) -> None:
        """Begins a stage; entering the current one changes nothing."""
        if stage != self._progress.stage:
            self._stage_start, self._stage_done = self._clock(), 0
            self._set(stage=stage)

    def advance(self, rows: int) -> None:
        """Counts rows as done."""
        self._stage_done += rows
        self._set(done=self._progress.done + rows)

    @property
    def progress(self) -> Progress:
        """As of now."""
        elapsed = self._clock() - self._stage_start
        rate = self._stage_done / elapsed if elapsed > 0 else 0.0
        left = self._progress.total - self._progress.done
        remaining = left / rate if rate else None
        return self._progress.model_copy(update={"rate": rate, "remaining_s": remaining})

    def _set(self, **changes: object) -> None:
        self._progress = self._progress.model_copy(update=changes)
