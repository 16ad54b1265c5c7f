"""Progress: counts add up, rates belong to their stage."""

from lookbench_evaluator.runs.model import Stage
from lookbench_evaluator.runs.progress import Tracker


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_rate_and_remaining_time_follow_the_current_stage():
    clock = Clock()
    tracker = Tracker(rejected=3, clock=clock)
    tracker.expect(110)
    tracker.enter(Stage.EMBEDDING_QUERIES)
    clock.now = 10.0
    tracker.advance(10)
    assert tracker.progress.rate == 1.0
    tracker.enter(Stage.EMBEDDING_ITEMS)
    clock.now = 15.0
    tracker.advance(50)
    progress = tracker.progress
    assert (progress.done, progress.total, progress.rejected) == (60, 110, 3)
    assert progress.rate == 10.0
    assert progress.remaining_s == 5.0


def test_remaining_time_is_unknown_before_anything_was_done():
    tracker = Tracker(clock=Clock())
    tracker.expect(10)
    assert tracker.progress.remaining_s is None


def test_entering_the_current_stage_again_keeps_its_rate():
    clock = Clock()
    tracker = Tracker(clock=clock)
    tracker.enter(Stage.EMBEDDING_ITEMS)
    clock.now = 1.0
    tracker.advance(4)
    tracker.enter(Stage.EMBEDDING_ITEMS)
    assert tracker.progress.rate == 4.0
