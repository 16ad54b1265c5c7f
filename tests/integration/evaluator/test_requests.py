"""Requests that are refused, and what every caller may know: models, health, reflection."""

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from asking import MODEL, health, refused, run_of
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2

SERVICE = "lookbench.v1.EvaluationService"


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


def test_a_request_above_4_mib_is_refused_with_size_and_limit(evaluator):
    """Fault A20, on the evaluator's own service."""
    big = api.CreateRunRequest(run=run_of(display_name="x" * (5 << 20)))
    with pytest.raises(grpc.RpcError) as caught:
        evaluator.stub.CreateRun(big, timeout=20)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "4194304" in caught.value.details()


def test_models_are_listed_with_readiness_and_provenance(evaluator):
    models = {m.name: m for m in evaluator.stub.ListModels(api.ListModelsRequest()).models}
    assert set(models) == {"models/efficientnet-lite0", "models/all-minilm-l6-v2"}
    assert all(m.ready and not m.problem for m in models.values())
    lite0 = evaluator.stub.GetModel(api.GetModelRequest(name="models/efficientnet-lite0"))
    assert lite0 == models["models/efficientnet-lite0"]
    assert lite0.dimension == 1280
    assert lite0.parity_worst_cosine >= 0.9999


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
