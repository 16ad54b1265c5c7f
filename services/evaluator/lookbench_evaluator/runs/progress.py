"""Counting the rows of a run and telling how long the rest will take."""

import time
from collections import deque
from collections.abc import Callable

from lookbench_evaluator.runs.model import Progress, Stage

WINDOW_S = 15.0
"""The rate is that of so many seconds: a run that slows down says so soon."""
SAMPLE_S = 0.25
EMBEDDING = frozenset({Stage.EMBEDDING_QUERIES, Stage.EMBEDDING_ITEMS})


class Tracker:
    """Progress of one execution of a run.

    Rows that an earlier execution left are done at once, and rows of the cache nearly
    so; neither may promise that the rest is as quick. So the rate counts what was done
    lately, in the current stage, without what was resumed, and the time left is known
    while rows are embedded only.
    """

    def __init__(self, rejected: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._progress = Progress(rejected=rejected)
        self._samples: deque[tuple[float, int]] = deque([(clock(), 0)])
        self._worked = 0

    def expect(self, total: int) -> None:
        """Sets how many rows there are in all."""
        self._set(total=total)

    def enter(self, stage: Stage) -> None:
        """Begins a stage; entering the current one changes nothing."""
        if stage != self._progress.stage:
            self._samples = deque([(self._clock(), self._worked)])
            self._set(stage=stage)

    def advance(self, rows: int) -> None:
        """Counts rows that a model has embedded."""
        self._worked += rows
        self._sample()
        self._set(done=self._progress.done + rows)

    def hit(self, rows: int) -> None:
        """Counts rows that the cache had."""
        self._set(cache_hits=self._progress.cache_hits + rows)
        self.advance(rows)

    def resume(self, rows: int) -> None:
        """Counts rows that an earlier execution of the run had done."""
        self._set(resumed=self._progress.resumed + rows, done=self._progress.done + rows)

    @property
    def progress(self) -> Progress:
        """As of now."""
        start, worked = self._samples[0]
        elapsed = self._clock() - start
        rate = (self._worked - worked) / elapsed if elapsed > 0 else 0.0
        left = self._progress.total - self._progress.done
        known = rate > 0 and self._progress.stage in EMBEDDING
        remaining = left / rate if known else None
        return self._progress.model_copy(update={"rate": rate, "remaining_s": remaining})

    def _sample(self) -> None:
        now = self._clock()
        if now - self._samples[-1][0] >= SAMPLE_S:
            self._samples.append((now, self._worked))
        while len(self._samples) > 1 and now - self._samples[1][0] >= WINDOW_S:
            self._samples.popleft()

    def _set(self, **changes: object) -> None:
        self._progress = self._progress.model_copy(update=changes)
