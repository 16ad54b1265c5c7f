"""Progress: counts add up, rates are of late and of their stage."""

import pytest

from lookbench_evaluator.runs.model import Stage
from lookbench_evaluator.runs.progress import Tracker


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def tracker(clock):
    return Tracker(rejected=3, clock=clock)


def work(tracker, clock, seconds, rows_a_second):
    for _ in range(seconds):
        clock.now += 1.0
        tracker.advance(rows_a_second)


def test_rate_and_remaining_time_follow_the_current_stage(tracker, clock):
    tracker.expect(110)
    tracker.enter(Stage.EMBEDDING_QUERIES)
    work(tracker, clock, 10, 1)
    assert tracker.progress.rate == 1.0
    tracker.enter(Stage.EMBEDDING_ITEMS)
    work(tracker, clock, 5, 10)
    progress = tracker.progress
    assert (progress.done, progress.total, progress.rejected) == (60, 110, 3)
    assert progress.rate == 10.0
    assert progress.remaining_s == 5.0


def test_remaining_time_is_unknown_before_anything_was_done(tracker):
    tracker.expect(10)
    tracker.enter(Stage.EMBEDDING_ITEMS)
    assert tracker.progress.remaining_s is None


def test_remaining_time_is_unknown_once_nothing_is_left_to_embed(tracker, clock):
    tracker.expect(10)
    tracker.enter(Stage.EMBEDDING_ITEMS)
    work(tracker, clock, 1, 10)
    assert tracker.progress.remaining_s == 0.0
    tracker.enter(Stage.RANKING)
    clock.now += 1
    assert tracker.progress.remaining_s is None


def test_entering_the_current_stage_again_keeps_its_rate(tracker, clock):
    tracker.enter(Stage.EMBEDDING_ITEMS)
    work(tracker, clock, 1, 4)
    tracker.enter(Stage.EMBEDDING_ITEMS)
    assert tracker.progress.rate == 4.0


def test_a_cache_that_answered_at_first_does_not_promise_the_rest(tracker, clock):
    tracker.expect(11_000)
    tracker.enter(Stage.EMBEDDING_ITEMS)
    clock.now = 1.0
    tracker.hit(10_000)
    work(tracker, clock, 20, 10)
    progress = tracker.progress
    assert progress.cache_hits == 10_000
    assert progress.rate == pytest.approx(10.0, rel=0.1)
    assert progress.remaining_s == pytest.approx(80.0, rel=0.1)


def test_resumed_rows_are_done_but_do_not_count_as_speed(tracker, clock):
    tracker.expect(1_000)
    tracker.enter(Stage.EMBEDDING_ITEMS)
    tracker.resume(900)
    work(tracker, clock, 10, 1)
    progress = tracker.progress
    assert (progress.resumed, progress.done, progress.rate) == (900, 910, 1.0)
    assert progress.remaining_s == 90.0


def test_a_run_that_stands_still_says_so(tracker, clock):
    tracker.expect(1_000)
    tracker.enter(Stage.EMBEDDING_ITEMS)
    work(tracker, clock, 20, 10)
    before = tracker.progress.rate
    clock.now += 60
    assert tracker.progress.rate < before / 3
