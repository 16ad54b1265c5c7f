"""A hundred runs at once: all end, memory stays bounded, nobody waits out of proportion."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import pytest

from asking import MODEL
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2

pytestmark = [pytest.mark.load, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def evaluator(make_evaluator, killable_triton, fashion_mnist):
    evaluator = make_evaluator(killable_triton.grpc_url)
    evaluator.import_benchmark("fm", "fashion-mnist", fashion_mnist, queries="20", items="100")
    evaluator.evaluate("fm", MODEL)  # what is loaded once is no cost of many runs
    return evaluator


def ended(evaluator, runs):
    """The runs once each has ended, asked for in turn."""
    waiting, done = {run.name for run in runs}, []
    deadline = time.monotonic() + 300
    while waiting:
        assert time.monotonic() < deadline, f"{len(waiting)} runs have not ended"
        for run in evaluator.stub.ListRuns(api.ListRunsRequest(page_size=1000)).runs:
            if run.name in waiting and run.state >= run_pb2.Run.SUCCEEDED:
                waiting.remove(run.name)
                done.append(run)
        time.sleep(0.2)
    return done


def together(evaluator, count):
    """Runs that are created at once, and the evaluator's peak of memory meanwhile, in bytes."""
    process = Path(f"/proc/{evaluator.process.pid}")
    (process / "clear_refs").write_text("5")  # the peak begins anew
    with ThreadPoolExecutor(16) as threads:
        runs = list(threads.map(lambda _: evaluator.create("fm", MODEL), range(count)))
    done = ended(evaluator, runs)
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    return done, int(status["VmHWM"].split()[0]) * 1024


def test_a_hundred_runs_end_in_bounded_memory_and_time(evaluator):
    _, few = together(evaluator, 4)
    runs, many = together(evaluator, 100)
    assert [r.error.message for r in runs if r.state != run_pb2.Run.SUCCEEDED] == []
    assert len({run.name for run in runs}) == 100
    waits = [(r.start_time.ToDatetime() - r.create_time.ToDatetime()).total_seconds() for r in runs]
    print(
        f"\npeak {few / 2**20:.0f} MiB with 4 runs, {many / 2**20:.0f} MiB with 100; "
        f"waits: median {median(waits):.1f} s, longest {max(waits):.1f} s"
    )
    assert many <= 1.5 * few
    assert max(waits) <= 3 * median(waits)
    reports = [evaluator.report(run) for run in runs]
    assert all(report.metrics == reports[0].metrics for report in reports)


def test_another_caller_does_not_wait_for_the_hundred(evaluator):
    runs = [evaluator.create("fm", MODEL) for _ in range(60)]
    request = api.CreateRunRequest(run=runs[0])
    other = evaluator.stub.CreateRun(request, metadata=[("lookbench-caller", "somebody else")])
    (first,) = ended(evaluator, [other])
    others = ended(evaluator, runs)
    assert first.caller == "somebody else"
    asked, begun = first.create_time.ToDatetime(), first.start_time.ToDatetime()
    starts = [run.start_time.ToDatetime() for run in others]
    assert max(starts) > begun, "nobody waited: more runs are needed"
    # Those that were about to begin anyway, on two workers.
    assert sum(asked < start < begun for start in starts) <= 2
