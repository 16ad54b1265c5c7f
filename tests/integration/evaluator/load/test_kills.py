"""SIGKILL at points drawn from a seed: of the evaluator, of Triton, of lbclient.

Whatever is killed, and whenever: after a restart the report is that of a run that
nobody disturbed, and little is embedded twice.
"""

import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from asking import MODEL
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2

pytestmark = [pytest.mark.load, pytest.mark.timeout(900)]
LBCLIENT = Path(sys.executable).with_name("lbclient")
QUERIES, ITEMS, SHARD_ROWS, SHARDS_UNDER_WAY = 60, 900, 32, 2
ROWS = QUERIES + ITEMS
KINDS = run_pb2.Run


def results(evaluator, run):
    """All query results of a run, page by page."""
    found, token = [], ""
    while True:
        request = api.ListQueryResultsRequest(parent=run.name, page_token=token, page_size=1000)
        page = evaluator.stub.ListQueryResults(request)
        found.extend(page.query_results)
        token = page.next_page_token
        if not token:
            return found


def numbers(evaluator, run):
    """Everything that a report says but what belongs to one run, and each query's outcome.

    Scores apart: they may differ by 1e-6 between batches.
    """
    report = evaluator.report(run)
    report.ClearField("run")
    outcome = [
        (r.subset, r.query_id, [i.item_id for i in r.ranking], [str(m) for m in r.metrics])
        for r in results(evaluator, run)
    ]
    return report, outcome


@pytest.fixture(scope="module")
def evaluator(make_evaluator, killable_triton, fashion_mnist):
    """Without a cache, so that what is embedded again is embedded by the model."""
    evaluator = make_evaluator(
        killable_triton.grpc_url, shard_rows=SHARD_ROWS, cache_bytes=0, triton_patience_s=30
    )
    evaluator.import_benchmark(
        "fm", "fashion-mnist", fashion_mnist, queries=str(QUERIES), items=str(ITEMS)
    )
    return evaluator


@pytest.fixture(scope="module")
def undisturbed(evaluator, killable_triton):
    """Numbers of a run that nobody disturbed, its seconds, and the rows that it embedded."""
    before, start = killable_triton.rows(), time.monotonic()
    run = evaluator.wait(evaluator.create("fm", MODEL))
    assert run.state == KINDS.SUCCEEDED, run.error.message
    seconds = time.monotonic() - start
    assert len(results(evaluator, run)) == QUERIES
    return numbers(evaluator, run), seconds, killable_triton.rows() - before


def get(evaluator, run):
    return evaluator.stub.GetRun(api.GetRunRequest(name=run.name))


def wait_for_share(evaluator, run, share, draw):
    """Until a share of the rows is done; beyond 1, into ranking and scoring."""
    while not (now := get(evaluator, run)).state >= KINDS.SUCCEEDED:
        total = now.progress.total
        if total and now.progress.done >= min(share, 1.0) * total:
            break
        time.sleep(0.01)
    time.sleep(draw.uniform(0, 0.25))
    return get(evaluator, run)


def finished(evaluator, run):
    """The run at its end, resumed as long as it fails for what was killed."""
    ended = evaluator.wait(run)
    while ended.state == KINDS.FAILED:
        print(f"resuming after: {ended.error.message}")
        evaluator.stub.ResumeRun(api.ResumeRunRequest(name=run.name))
        ended = evaluator.wait(run)
    assert ended.state == KINDS.SUCCEEDED
    return ended


def test_the_evaluator_killed_at_twenty_points(evaluator, killable_triton, undisturbed, draw):
    expected, _, rows = undisturbed
    for _ in range(4):
        run, before = evaluator.create("fm", MODEL), killable_triton.rows()
        shares = sorted(draw.uniform(0, 1.1) for _ in range(5))
        print(f"{run.name}: killed at {[round(share, 3) for share in shares]}")
        for share in shares:
            wait_for_share(evaluator, run, share, draw)
            evaluator.end(kill=True)
            evaluator.start()
        ended = finished(evaluator, run)
        assert numbers(evaluator, ended) == expected
        again = killable_triton.rows() - before - rows
        # Each start checks the model once more, with as many rows as the first one did.
        allowed = len(shares) * (SHARDS_UNDER_WAY * SHARD_ROWS + rows - ROWS)
        assert again <= allowed, f"{again} rows were embedded again, {allowed} may be"


def test_triton_killed_at_ten_points(evaluator, killable_triton, undisturbed, draw):
    expected, *_ = undisturbed
    for whole in (True, False):
        run = evaluator.create("fm", MODEL)
        shares = sorted(draw.uniform(0, 1) for _ in range(7 if whole else 3))
        print(f"{run.name}: Triton killed at {[round(share, 3) for share in shares]}")
        for share in shares:
            wait_for_share(evaluator, run, share, draw)
            if whole:
                killable_triton.kill_all()
                time.sleep(draw.uniform(0, 1))
                killable_triton.start()
            else:
                killable_triton.kill_server()
        assert numbers(evaluator, finished(evaluator, run)) == expected


@pytest.fixture
def impatient(make_evaluator, killable_triton, fashion_mnist):
    evaluator = make_evaluator(
        killable_triton.grpc_url, shard_rows=SHARD_ROWS, cache_bytes=0, triton_patience_s=1
    )
    evaluator.import_benchmark(
        "fm", "fashion-mnist", fashion_mnist, queries=str(QUERIES), items=str(ITEMS)
    )
    return evaluator


def test_a_run_that_failed_without_triton_is_resumed_from_its_shards(
    impatient, killable_triton, undisturbed, draw
):
    expected, *_ = undisturbed
    run = impatient.create("fm", MODEL)
    wait_for_share(impatient, run, draw.uniform(0.3, 0.7), draw)
    killable_triton.kill_all()
    failed = impatient.wait(run)
    killable_triton.start()
    assert failed.state == KINDS.FAILED
    assert failed.error.details[0].value.count(b"TRITON_UNAVAILABLE")
    done = failed.progress.done
    impatient.stub.ResumeRun(api.ResumeRunRequest(name=run.name))
    ended = impatient.wait(run)
    assert numbers(impatient, ended) == expected
    assert done - SHARDS_UNDER_WAY * SHARD_ROWS <= ended.progress.resumed <= done
    assert ended.progress.done == ROWS


def test_lbclient_killed_at_ten_points(evaluator, undisturbed, draw):
    """The same command again attaches to the run that is there, or makes it."""
    expected, seconds, _ = undisturbed
    for number in range(10):
        command = [LBCLIENT, "--server", f"127.0.0.1:{evaluator.port}", "evaluate", "--json"]
        command += ["--benchmark", "fm", "--model", MODEL, "--run-id", f"killed-{number}"]
        first = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
        )
        time.sleep(draw.uniform(0, 1.2 * seconds))
        first.kill()
        first.wait(10)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        run = run_pb2.Run(name=f"runs/killed-{number}")
        assert json.loads(done.stdout)["run"]["name"] == run.name
        assert numbers(evaluator, run) == expected
    request = api.ListRunsRequest(page_size=1000)
    names = [r.name for r in evaluator.stub.ListRuns(request).runs]
    assert len(names) == len(set(names))
    assert sum(name.startswith("runs/killed-") for name in names) == 10


def test_what_only_a_run_used_goes_with_it(evaluator):
    """After all that was killed and resumed, no vectors lie around."""
    store = Path(evaluator.environment["LOOKBENCH_EVALUATOR_STORE_DIR"])
    assert list(itertools.islice((store / "runs").glob("*"), 5)) == []
