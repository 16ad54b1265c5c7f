"""Progress in words."""

from google.protobuf.duration_pb2 import Duration

from lbclient.progress import LineProgress, progress_line
from lookbench.v1.run_pb2 import Progress, Run


def running(stage=Progress.EMBEDDING_ITEMS, **progress):
    return Run(state=Run.RUNNING, progress=Progress(stage=stage, **progress))


def test_line_holds_rate_remaining_cache_and_rejected():
    run = running(
        total=4500, done=1200, rate=85.4, remaining=Duration(seconds=39), cache_hits=7, rejected=2
    )
    assert progress_line(run) == (
        "embedding items, 1,200 of 4,500 (26 %), 85/s, about 39 s left, 7 from cache, 2 rejected"
    )


def test_what_an_earlier_execution_had_done_is_told():
    run = running(total=10, done=8, rate=2.5, resumed=6)
    assert progress_line(run) == "embedding items, 8 of 10 (80 %), 2.5/s, 6 done before"


def test_what_is_not_known_is_left_out():
    assert progress_line(Run(state=Run.PENDING)) == "waiting for its turn"
    assert progress_line(running(Progress.RANKING)) == "ranking"


def test_slow_rate_keeps_a_decimal():
    assert progress_line(running(rate=0.25)) == "embedding items, 0.2/s"


def test_stage_unknown_to_this_client_is_running():
    assert progress_line(running(stage=42)) == "running"


def test_lines_come_at_new_stages_and_at_intervals():
    lines, now = [], [0.0]
    progress = LineProgress(lines.append, interval=10.0, clock=lambda: now[0])
    for second, stage in [(0, 2), (3, 2), (9.9, 2), (10, 2), (12, 3), (15, 3), (22, 3)]:
        now[0] = second
        progress.show(running(stage, total=100, done=int(second)))
    assert [line.split(" (")[0] for line in lines] == [
        "embedding queries, 0 of 100",
        "embedding queries, 10 of 100",
        "embedding items, 12 of 100",
        "embedding items, 22 of 100",
    ]
