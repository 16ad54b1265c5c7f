"""Times and durations as people read them."""

from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp

from lookbench.v1.run_pb2 import Run

NONE = "-"


def local_time(stamp: Timestamp) -> str:
    """Seconds in the local time zone; `-` when it is not set."""
    return f"{_local(stamp):%Y-%m-%d %H:%M:%S}" if stamp.seconds else NONE


def short_time(stamp: Timestamp, now: datetime | None = None) -> str:
    """11 characters at most: minutes of this year, the day of another; `-` when it is not set."""
    if not stamp.seconds:
        return NONE
    local = _local(stamp)
    same_year = local.year == (now or datetime.now().astimezone()).year
    return f"{local:%m-%d %H:%M}" if same_year else f"{local:%Y-%m-%d}"


def _local(stamp: Timestamp) -> datetime:
    return datetime.fromtimestamp(stamp.seconds).astimezone()


def duration_text(seconds: float) -> str:
    """`45 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def run_duration(run: Run) -> str:
    """From start to end, tenths below ten seconds; empty when the run has not ended."""
    seconds = (run.end_time.ToNanoseconds() - run.start_time.ToNanoseconds()) / 1e9
    if not (run.HasField("start_time") and run.HasField("end_time")) or seconds <= 0:
        return ""
    return f"{seconds:.1f} s" if seconds < 9.95 else duration_text(seconds)
