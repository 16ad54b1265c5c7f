"""Runs as resources: created once, watched, paged, cancelled, resumed, deleted."""

import time
import uuid

import grpc
import pytest

from asking import MODEL, refused, run_of
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2


def test_the_same_request_id_makes_one_run(evaluator, shades):
    request_id = str(uuid.uuid4())
    first = evaluator.create(shades, MODEL, request_id=request_id)
    again = evaluator.create(shades, MODEL, request_id=request_id)
    assert again.name == first.name
    evaluator.wait(first)
    refused(
        evaluator.stub.CreateRun,
        api.CreateRunRequest(
            run=run_of(options=run_pb2.EvaluationOptions(cutoffs=[3])), request_id=request_id
        ),
        grpc.StatusCode.INVALID_ARGUMENT,
        "REQUEST_ID_REUSED",
    )


def test_a_run_id_of_the_callers_is_taken_once(evaluator, shades):
    run = evaluator.create(shades, MODEL, run_id="mine")
    assert run.name == "runs/mine"
    evaluator.wait(run)
    refused(
        evaluator.stub.CreateRun,
        api.CreateRunRequest(run=run_of(), run_id="mine"),
        grpc.StatusCode.ALREADY_EXISTS,
        "RUN_ALREADY_EXISTS",
    )


def test_a_run_records_the_defaults_it_was_given(finished):
    encoder = finished.system.dense.item_encoder
    assert (encoder.model, encoder.preset, encoder.dimension) == (
        f"models/{MODEL}",
        "lookbench",
        1280,
    )
    assert list(finished.options.cutoffs) == [1, 5, 10, 20]
    assert list(finished.options.judgements) == ["category"]
    assert finished.options.no_relevant_policy == run_pb2.EvaluationOptions.ZERO
    assert finished.pinned.benchmark_digest.startswith("sha256:")
    assert finished.pinned.models[0].version == "1"


def test_watching_tells_a_snapshot_first_and_grows(evaluator, shades, finished):
    ended = list(evaluator.stub.WatchRun(api.WatchRunRequest(name=finished.name), timeout=20))
    assert [change.run for change in ended] == [finished]
    run = evaluator.create(shades, MODEL)
    changes = [
        c.run for c in evaluator.stub.WatchRun(api.WatchRunRequest(name=run.name), timeout=60)
    ]
    revisions = [change.revision for change in changes]
    assert revisions == sorted(set(revisions))
    assert changes[-1].state == run_pb2.Run.SUCCEEDED
    assert changes[-1].progress.done == changes[-1].progress.total == 9


def test_hanging_up_does_not_stop_a_run(evaluator, shades):
    run = evaluator.create(shades, MODEL)
    stream = evaluator.stub.WatchRun(api.WatchRunRequest(name=run.name), timeout=60)
    next(stream)
    stream.cancel()
    assert evaluator.wait(run).state == run_pb2.Run.SUCCEEDED


def test_lists_page_through_everything_once(evaluator, finished):
    whole = evaluator.stub.ListRuns(api.ListRunsRequest(page_size=1000)).runs
    paged, token = [], ""
    while True:
        page = evaluator.stub.ListRuns(api.ListRunsRequest(page_size=2, page_token=token))
        paged.extend(page.runs)
        token = page.next_page_token
        if not token:
            break
    assert [run.name for run in paged] == [run.name for run in whole]
    wanted = api.ListRunsRequest(
        benchmark="benchmarks/shades", model=f"models/{MODEL}", states=[run_pb2.Run.SUCCEEDED]
    )
    assert finished.name in {run.name for run in evaluator.stub.ListRuns(wanted).runs}
    nothing = api.ListRunsRequest(benchmark="benchmarks/shades", states=[run_pb2.Run.FAILED])
    assert list(evaluator.stub.ListRuns(nothing).runs) == []


def test_query_results_page_in_the_order_of_the_queries(evaluator, finished):
    found, token = [], ""
    while True:
        page = evaluator.stub.ListQueryResults(
            api.ListQueryResultsRequest(parent=finished.name, page_size=2, page_token=token)
        )
        found.extend(page.query_results)
        token = page.next_page_token
        if not token:
            break
    assert [result.query_id for result in found] == ["q0", "q1", "q2"]
    first = found[0]
    scores = [item.score for item in first.ranking]
    assert len(scores) == 6, "a cutoff above the gallery's size ranks all of it"
    assert scores == sorted(scores, reverse=True)
    means = {(m.metric, m.cutoff): m.value for m in evaluator.report(finished).metrics}
    for key, mean in means.items():
        values = [m.value for r in found for m in r.metrics if (m.metric, m.cutoff) == key]
        assert sum(values) / len(values) == pytest.approx(mean)


def test_a_pending_or_running_run_is_cancelled_and_resumed(evaluator, fashion_mnist):
    evaluator.import_benchmark(
        "fm-cancel", "fashion-mnist", fashion_mnist, queries="60", items="400"
    )
    run = evaluator.create("fm-cancel", MODEL)
    refused(
        evaluator.stub.GetReport,
        api.GetReportRequest(name=run.name),
        grpc.StatusCode.FAILED_PRECONDITION,
        "RUN_NOT_FINISHED",
    )
    refused(
        evaluator.stub.DeleteRun,
        api.DeleteRunRequest(name=run.name),
        grpc.StatusCode.FAILED_PRECONDITION,
        "RUN_NOT_DELETABLE",
    )
    cancelled = evaluator.stub.CancelRun(api.CancelRunRequest(name=run.name), timeout=20)
    assert cancelled.state == run_pb2.Run.CANCELLED
    refused(
        evaluator.stub.CancelRun,
        api.CancelRunRequest(name=run.name),
        grpc.StatusCode.FAILED_PRECONDITION,
        "RUN_NOT_CANCELLABLE",
    )
    resumed = evaluator.stub.ResumeRun(api.ResumeRunRequest(name=run.name), timeout=20)
    assert resumed.state == run_pb2.Run.PENDING
    ended = evaluator.wait(resumed)
    assert ended.state == run_pb2.Run.SUCCEEDED, ended.error.message
    refused(
        evaluator.stub.ResumeRun,
        api.ResumeRunRequest(name=run.name),
        grpc.StatusCode.FAILED_PRECONDITION,
        "RUN_NOT_RESUMABLE",
    )
    evaluator.stub.DeleteRun(api.DeleteRunRequest(name=run.name))
    refused(
        evaluator.stub.GetRun,
        api.GetRunRequest(name=run.name),
        grpc.StatusCode.NOT_FOUND,
        "RUN_NOT_FOUND",
    )


def test_a_caller_who_hangs_up_leaves_no_run_that_nobody_executes(evaluator, shades):
    calls = []
    for number in range(12):
        request = api.CreateRunRequest(run=run_of(), run_id=f"hasty-{number}")
        call = evaluator.stub.CreateRun.future(request)
        time.sleep(0.003 * number)
        call.cancel()
        calls.append(call)
    time.sleep(0.5)
    listed = evaluator.stub.ListRuns(api.ListRunsRequest(page_size=1000)).runs
    hasty = [run for run in listed if run.name.startswith("runs/hasty-")]
    assert all(evaluator.wait(run).state == run_pb2.Run.SUCCEEDED for run in hasty)
