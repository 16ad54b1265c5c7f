"""Counting the rows of a run and telling how long the rest will take."""

import time
from collections.abc import Callable

from lookbench_evaluator.runs.model import Progress, Stage

PUBLISH_INTERVAL_S = 0.5


class Tracker:
    """Progress of one run; `publish` is called when the stage changes and about twice a second.

    The rate is that of the current stage, so that the time of one stage is
    never promised from the speed of another.
    """

    def __init__(
        self,
        publish: Callable[[Progress], None],
        rejected: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._publish, self._clock = publish, clock
        self._progress = Progress(rejected=rejected)
        self._stage_start = self._published = clock()
        self._stage_done = 0

    def expect(self, total: int) -> None:
        """Sets how many rows there are in all."""
        self._progress = self._progress.model_copy(update={"total": total})

    def enter(self, stage: Stage) -> None:
        """Begins a stage."""
        if stage == self._progress.stage:
            return
        self._stage_start, self._stage_done = self._clock(), 0
        self._set(stage=stage, rate=0.0, remaining_s=None)
        self._tell()

    def advance(self, rows: int) -> None:
        """Counts rows as done."""
        self._stage_done += rows
        done = self._progress.done + rows
        elapsed = self._clock() - self._stage_start
        rate = self._stage_done / elapsed if elapsed > 0 else 0.0
        remaining = (self._progress.total - done) / rate if rate else None
        self._set(done=done, rate=rate, remaining_s=remaining)
        if self._clock() - self._published >= PUBLISH_INTERVAL_S:
            self._tell()

    @property
    def progress(self) -> Progress:
        """As of now."""
        return self._progress

    def _set(self, **changes: object) -> None:
        self._progress = self._progress.model_copy(update=changes)

    def _tell(self) -> None:
        self._published = self._clock()
        self._publish(self._progress)
