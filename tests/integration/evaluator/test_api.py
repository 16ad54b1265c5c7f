"""The contract, asked of a real evaluator: statuses, paging, watching, states, health."""

import struct
import time
import uuid
import zlib

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from lookbench.v1 import benchmark_pb2, run_pb2
from lookbench.v1 import evaluation_service_pb2 as api

MODEL = "efficientnet-lite0"
SERVICE = "lookbench.v1.EvaluationService"


def png(shade):
    """An 8 x 8 grey PNG, written by hand."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = b"".join(b"\0" + bytes([shade]) * 8 for _ in range(8))
    head = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def make_folder(folder, rows, damaged=()):
    folder.mkdir()
    lines = ["id,path,split,category"]
    for number, (name, split, category) in enumerate(rows):
        content = b"not an image" if name in damaged else png(10 * number)
        (folder / f"{name}.png").write_bytes(content)
        lines.append(f"{name},{name}.png,{split},{category}")
    (folder / "labels.csv").write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="module")
def shades(evaluator, data_root):
    """Six items and three queries of two categories."""
    rows = [(f"i{n}", "item", "dark" if n < 3 else "light") for n in range(6)]
    rows += [(f"q{n}", "query", "dark" if n < 2 else "light") for n in range(3)]
    found = evaluator.import_benchmark(
        "shades", "image-folder", make_folder(data_root / "shades", rows)
    )
    assert found.state == benchmark_pb2.Benchmark.READY, found.error.message
    return "shades"


@pytest.fixture(scope="module")
def finished(evaluator, shades):
    run = evaluator.wait(evaluator.create(shades, MODEL))
    assert run.state == run_pb2.Run.SUCCEEDED, run.error.message
    return run


def details(error):
    status = rpc_status.from_call(error)
    info = error_details_pb2.ErrorInfo()
    others = []
    for packed in status.details:
        if not packed.Unpack(info):
            others.append(packed.TypeName().rpartition(".")[2])
    return info, others


def refused(call, request, code, reason):
    with pytest.raises(grpc.RpcError) as caught:
        call(request, timeout=20)
    info, others = details(caught.value)
    assert (caught.value.code(), info.reason) == (code, reason), caught.value.details()
    assert info.domain == "lookbench.dev"
    assert "Traceback" not in caught.value.details()
    return caught.value.details(), others


@pytest.mark.parametrize(
    ("method", "request_", "code", "reason", "detail"),
    [
        (
            "GetRun",
            api.GetRunRequest(name="runs/none"),
            "NOT_FOUND",
            "RUN_NOT_FOUND",
            "ResourceInfo",
        ),
        (
            "GetRun",
            api.GetRunRequest(name="none"),
            "INVALID_ARGUMENT",
            "INVALID_FIELD",
            "BadRequest",
        ),
        (
            "GetBenchmark",
            api.GetBenchmarkRequest(name="benchmarks/none"),
            "NOT_FOUND",
            "BENCHMARK_NOT_FOUND",
            "ResourceInfo",
        ),
        (
            "GetModel",
            api.GetModelRequest(name="models/none"),
            "NOT_FOUND",
            "MODEL_NOT_FOUND",
            "ResourceInfo",
        ),
        (
            "ListRuns",
            api.ListRunsRequest(page_size=-1),
            "INVALID_ARGUMENT",
            "INVALID_FIELD",
            "BadRequest",
        ),
        (
            "ListRuns",
            api.ListRunsRequest(page_token="x"),
            "INVALID_ARGUMENT",
            "INVALID_PAGE_TOKEN",
            "BadRequest",
        ),
        (
            "ImportBenchmark",
            api.ImportBenchmarkRequest(benchmark_id="x", format="beir", path="/etc"),
            "INVALID_ARGUMENT",
            "PATH_OUTSIDE_ROOT",
            "BadRequest",
        ),
        (
            "ImportBenchmark",
            api.ImportBenchmarkRequest(benchmark_id="x", format="beir", path="../../etc"),
            "INVALID_ARGUMENT",
            "PATH_OUTSIDE_ROOT",
            "BadRequest",
        ),
        (
            "ImportBenchmark",
            api.ImportBenchmarkRequest(benchmark_id="x", format="csv", path="."),
            "INVALID_ARGUMENT",
            "INVALID_FIELD",
            "BadRequest",
        ),
        (
            "DeleteRun",
            api.DeleteRunRequest(name="runs/none"),
            "NOT_FOUND",
            "RUN_NOT_FOUND",
            "ResourceInfo",
        ),
    ],
)
def test_bad_requests_have_their_status(evaluator, method, request_, code, reason, detail):
    call = getattr(evaluator.stub, method)
    _, others = refused(call, request_, getattr(grpc.StatusCode, code), reason)
    assert others == [detail]


def run_of(benchmark="shades", model=MODEL, **fields):
    dense = run_pb2.DenseRetriever(query_encoder=run_pb2.Encoder(model=f"models/{model}"))
    fields.setdefault("system", run_pb2.System(dense=dense))
    return run_pb2.Run(benchmark=f"benchmarks/{benchmark}", **fields)


@pytest.mark.parametrize(
    ("run", "code", "reason", "words"),
    [
        (run_of("none"), "NOT_FOUND", "BENCHMARK_NOT_FOUND", "lbclient benchmarks list"),
        (run_of(model="none"), "NOT_FOUND", "MODEL_NOT_FOUND", "lbclient models"),
        (
            run_of(model="all-minilm-l6-v2"),
            "FAILED_PRECONDITION",
            "MODEL_CONTRACT_MISMATCH",
            "image",
        ),
        (run_of(subsets=["none"]), "INVALID_ARGUMENT", "INVALID_FIELD", "it has all"),
        (run_of(system=run_pb2.System()), "INVALID_ARGUMENT", "INVALID_FIELD", "first_stage"),
        (
            run_of(system=run_pb2.System(lexical=run_pb2.LexicalRetriever())),
            "UNIMPLEMENTED",
            "NOT_IMPLEMENTED_YET",
            "lexical",
        ),
        (
            run_of(options=run_pb2.EvaluationOptions(metrics=["ndcg"])),
            "INVALID_ARGUMENT",
            "INVALID_FIELD",
            "ndcg_binary",
        ),
        (
            run_of(options=run_pb2.EvaluationOptions(cutoffs=[0])),
            "INVALID_ARGUMENT",
            "INVALID_FIELD",
            "between 1",
        ),
        (
            run_of(options=run_pb2.EvaluationOptions(judgements=["colour"])),
            "INVALID_ARGUMENT",
            "INVALID_FIELD",
            "category",
        ),
    ],
)
def test_a_run_that_cannot_start_is_refused_with_what_there_is(
    evaluator, shades, run, code, reason, words
):
    message, _ = refused(
        evaluator.stub.CreateRun,
        api.CreateRunRequest(run=run),
        getattr(grpc.StatusCode, code),
        reason,
    )
    assert words in message


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


def test_rejected_rows_are_counted_listed_and_decided_by_the_policy(evaluator, data_root):
    rows = [(f"i{n}", "item", "a") for n in range(4)] + [(f"q{n}", "query", "a") for n in range(3)]
    folder = make_folder(data_root / "damaged", rows, damaged={"i1", "q2"})
    found = evaluator.import_benchmark("damaged", "image-folder", folder)
    for collection in found.collections:
        assert collection.rows_in == collection.rows_out + collection.rows_rejected
    message, _ = refused(
        evaluator.stub.CreateRun,
        api.CreateRunRequest(run=run_of("damaged")),
        grpc.StatusCode.FAILED_PRECONDITION,
        "ROWS_REJECTED",
    )
    assert "lost 1 rows" in message
    assert dict(found.rejected_reasons) == {"IMAGE_UNREADABLE": 2}
    allowed = run_pb2.EvaluationOptions(rejected_policy=run_pb2.EvaluationOptions.ALLOW)
    report = evaluator.evaluate("damaged", MODEL, options=allowed)
    assert report.rejected_count == 2
    assert {(r.id, r.reason) for r in report.rejected} == {
        ("i1", "IMAGE_UNREADABLE"),
        ("q2", "IMAGE_UNREADABLE"),
    }


def test_identical_images_are_listed_and_merged_if_asked(evaluator, data_root):
    """Fault A28: g1 (label x) and g2 (label y) hold the same bytes, the query has label x."""
    folder = data_root / "twins"
    folder.mkdir()
    for name in ("g1", "g2", "q"):
        (folder / f"{name}.png").write_bytes(png(100))
    (folder / "labels.csv").write_text(
        "id,path,split,category\ng2,g2.png,item,y\ng1,g1.png,item,x\nq,q.png,query,y\n"
    )
    evaluator.import_benchmark("twins", "image-folder", folder)
    kind = run_pb2.EvaluationOptions
    kept = evaluator.evaluate("twins", MODEL, options=kind(metrics=["hit"], cutoffs=[1]))
    merged = evaluator.evaluate(
        "twins", MODEL, options=kind(metrics=["hit"], cutoffs=[1], duplicate_policy=kind.MERGE)
    )
    assert [list(g.item_ids) for g in kept.duplicates] == [["g1", "g2"]]
    assert kept.duplicates[0].labels_disagree
    assert kept.metrics[0].value == 0.0, "equal scores: g1 comes first by its id"
    assert merged.metrics[0].value == 1.0
    assert merged.subsets[0].item_count == 1
    assert any("merged" in note for note in merged.notes)


def test_an_import_of_the_same_source_is_the_same_benchmark(evaluator, shades, data_root):
    again = evaluator.import_benchmark("shades", "image-folder", data_root / "shades")
    assert again.state == benchmark_pb2.Benchmark.READY
    other = make_folder(data_root / "other", [("i", "item", "a"), ("q", "query", "a")])
    refused(
        evaluator.stub.ImportBenchmark,
        api.ImportBenchmarkRequest(benchmark_id="shades", format="image-folder", path=str(other)),
        grpc.StatusCode.ALREADY_EXISTS,
        "BENCHMARK_ALREADY_EXISTS",
    )


def test_an_import_that_fails_says_why_and_can_be_repeated(evaluator, data_root):
    rows = [("i", "item", "a"), ("q", "query", "a")]
    folder = make_folder(data_root / "broken", rows, damaged={"q"})
    failed = evaluator.import_benchmark("broken", "image-folder", folder)
    assert failed.state == benchmark_pb2.Benchmark.FAILED
    assert "no usable query" in failed.error.message
    (folder / "q.png").write_bytes(png(1))
    assert evaluator.import_benchmark("broken", "image-folder", folder).state == (
        benchmark_pb2.Benchmark.READY
    )


def test_models_are_listed_with_readiness_and_provenance(evaluator):
    models = {m.name: m for m in evaluator.stub.ListModels(api.ListModelsRequest()).models}
    assert set(models) == {"models/efficientnet-lite0", "models/all-minilm-l6-v2"}
    assert all(m.ready and not m.problem for m in models.values())
    lite0 = evaluator.stub.GetModel(api.GetModelRequest(name="models/efficientnet-lite0"))
    assert lite0 == models["models/efficientnet-lite0"]
    assert lite0.dimension == 1280
    assert lite0.parity_worst_cosine >= 0.9999


def health(evaluator, service):
    stub = health_pb2_grpc.HealthStub(evaluator.channel)
    return stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=5).status


def test_health_knows_its_names(evaluator):
    serving = health_pb2.HealthCheckResponse.SERVING
    for name in ("", "liveness", "readiness", SERVICE, "triton"):
        assert health(evaluator, name) == serving, name
    with pytest.raises(grpc.RpcError) as caught:
        health(evaluator, "nonsense")
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


def test_reflection_lists_the_service(evaluator):
    stub = reflection_pb2_grpc.ServerReflectionStub(evaluator.channel)
    ask = reflection_pb2.ServerReflectionRequest(list_services="")
    (answer,) = stub.ServerReflectionInfo(iter([ask]), timeout=5)
    assert SERVICE in {s.name for s in answer.list_services_response.service}


def test_a_request_above_4_mib_is_refused_with_size_and_limit(evaluator):
    """Fault A20, on the evaluator's own service."""
    big = api.CreateRunRequest(run=run_of(display_name="x" * (5 << 20)))
    with pytest.raises(grpc.RpcError) as caught:
        evaluator.stub.CreateRun(big, timeout=20)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "4194304" in caught.value.details()


def test_without_triton_runs_are_refused_and_results_stay_readable(
    make_evaluator, embedded_triton, models, data_root, shades
):
    server = embedded_triton(models, "--load", MODEL)
    evaluator = make_evaluator(server.grpc_url)
    evaluator.import_benchmark("shades", "image-folder", data_root / "shades")
    report = evaluator.evaluate("shades", MODEL)
    not_loaded = evaluator.stub.GetModel(api.GetModelRequest(name="models/all-minilm-l6-v2"))
    assert not not_loaded.ready
    assert not_loaded.problem
    server.stop()
    message, others = refused(
        evaluator.stub.CreateRun,
        api.CreateRunRequest(run=run_of()),
        grpc.StatusCode.UNAVAILABLE,
        "TRITON_UNAVAILABLE",
    )
    assert server.grpc_url in message
    assert others == ["RetryInfo"]
    assert evaluator.report(report.run) == report
    deadline = time.monotonic() + 10
    while health(evaluator, "triton") == health_pb2.HealthCheckResponse.SERVING:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert health(evaluator, "") == health_pb2.HealthCheckResponse.SERVING


def test_a_killed_evaluator_finishes_its_runs_after_restart(make_evaluator, triton, fashion_mnist):
    evaluator = make_evaluator(triton.grpc_url)
    evaluator.import_benchmark("fm", "fashion-mnist", fashion_mnist, queries="40", items="300")
    whole = evaluator.evaluate("fm", MODEL)
    run = evaluator.create("fm", MODEL)
    for change in evaluator.stub.WatchRun(api.WatchRunRequest(name=run.name), timeout=60):
        if change.run.progress.done:
            break
    evaluator.end(kill=True)
    evaluator.start()
    ended = evaluator.wait(evaluator.stub.GetRun(api.GetRunRequest(name=run.name)))
    assert ended.state == run_pb2.Run.SUCCEEDED, ended.error.message
    assert evaluator.report(ended).metrics == whole.metrics


def test_a_clean_stop_is_quick_and_leaves_the_store_in_order(make_evaluator, triton):
    evaluator = make_evaluator(triton.grpc_url)
    started = time.monotonic()
    assert evaluator.end() == 0
    assert time.monotonic() - started < 10
    evaluator.start()
    assert list(evaluator.stub.ListRuns(api.ListRunsRequest()).runs) == []


def test_a_replacement_that_fails_leaves_the_benchmark_as_it_was(evaluator, data_root):
    rows = [("i", "item", "a"), ("q", "query", "a")]
    evaluator.import_benchmark("kept", "image-folder", make_folder(data_root / "kept", rows))
    before = evaluator.evaluate("kept", MODEL).metrics
    broken = make_folder(data_root / "kept-broken", rows, damaged={"q"})
    evaluator.stub.ImportBenchmark(
        api.ImportBenchmarkRequest(
            benchmark_id="kept", format="image-folder", path=str(broken), allow_replace=True
        )
    )
    found = evaluator.imported("kept")
    assert found.state == benchmark_pb2.Benchmark.READY
    assert "no usable query" in found.error.message
    assert evaluator.evaluate("kept", MODEL).metrics == before


def test_two_imports_of_one_id_at_once_are_one_or_refused(evaluator, data_root):
    rows = [(f"i{n}", "item", "a") for n in range(9)] + [("q", "query", "a")]
    folders = [make_folder(data_root / f"racing-{n}", rows) for n in range(2)]

    def ask(folder):
        request = api.ImportBenchmarkRequest(
            benchmark_id="racing", format="image-folder", path=str(folder)
        )
        return evaluator.stub.ImportBenchmark.future(request, timeout=20)

    codes = [call.code() for call in [ask(folders[0]), ask(folders[1]), ask(folders[0])]]
    assert codes.count(grpc.StatusCode.OK) in {1, 2}
    assert set(codes) == {grpc.StatusCode.OK, grpc.StatusCode.ALREADY_EXISTS}
    assert evaluator.imported("racing").state == benchmark_pb2.Benchmark.READY


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


@pytest.mark.parametrize(
    "options",
    [
        run_pb2.EvaluationOptions(relevance_threshold=float("inf")),
        run_pb2.EvaluationOptions(relevance_threshold=float("nan")),
        run_pb2.EvaluationOptions(relevance_threshold=2),
        run_pb2.EvaluationOptions(timeout={"seconds": -1}),
    ],
)
def test_numbers_that_cannot_be_meant_are_refused(evaluator, shades, options):
    refused(
        evaluator.stub.CreateRun,
        api.CreateRunRequest(run=run_of(options=options)),
        grpc.StatusCode.INVALID_ARGUMENT,
        "INVALID_FIELD",
    )


def test_a_timeout_of_millions_of_years_is_taken(evaluator, shades):
    options = run_pb2.EvaluationOptions(timeout={"seconds": 10**11})
    evaluator.evaluate("shades", MODEL, options=options)


def test_names_in_any_script_come_back_in_the_error(evaluator):
    message, _ = refused(
        evaluator.stub.GetRun,
        api.GetRunRequest(name="runs/" + "漢" * 3000),
        grpc.StatusCode.INVALID_ARGUMENT,
        "INVALID_FIELD",
    )
    assert "漢" in message


def test_stopping_does_not_wait_for_watchers(make_evaluator, triton, fashion_mnist):
    evaluator = make_evaluator(triton.grpc_url)
    evaluator.import_benchmark("fm", "fashion-mnist", fashion_mnist, queries="60", items="400")
    run = evaluator.create("fm", MODEL)
    stream = evaluator.stub.WatchRun(api.WatchRunRequest(name=run.name), timeout=60)
    next(stream)
    evaluator.process.terminate()
    with pytest.raises(grpc.RpcError) as caught:
        list(stream)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert details(caught.value)[0].reason == "SHUTTING_DOWN"
    assert evaluator.process.wait(8) == 0
