"""Times and durations."""

from datetime import datetime

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from lbclient.times import duration_text, local_time, run_duration, short_time
from lookbench.v1.run_pb2 import Run

STAMP = Timestamp(seconds=1_700_000_000)  # 14 November 2023


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (200, "3 min 20 s"), (3599.6, "1 h 0 min"), (7500, "2 h 5 min")],
)
def test_durations(seconds, text):
    assert duration_text(seconds) == text


def test_time_that_is_not_set_is_a_dash():
    assert local_time(Timestamp()) == "-"
    assert short_time(Timestamp()) == "-"


def test_times_have_seconds_and_in_lists_what_tells_runs_apart():
    assert len(local_time(STAMP)) == len("2023-11-14 22:13:20")
    assert short_time(STAMP, datetime(2024, 6, 1).astimezone()) == local_time(STAMP)[:10]
    assert short_time(STAMP, datetime(2023, 6, 1).astimezone()) == local_time(STAMP)[5:16]


@pytest.mark.parametrize(
    ("nanos", "text"), [(400_000_000, "0.4 s"), (9_960_000_000, "10 s"), (75 * 10**9, "1 min 15 s")]
)
def test_run_that_ended_took_a_time(nanos, text):
    end = Timestamp()
    end.FromNanoseconds(STAMP.ToNanoseconds() + nanos)
    assert run_duration(Run(start_time=STAMP, end_time=end)) == text
    assert run_duration(Run(start_time=STAMP)) == ""
    assert run_duration(Run(end_time=end)) == ""


def test_run_whose_end_lies_before_its_start_is_said_to_have_taken_no_time():
    """The server's clock was set back meanwhile."""
    assert run_duration(Run(start_time=STAMP, end_time=Timestamp(seconds=STAMP.seconds - 9))) == ""
