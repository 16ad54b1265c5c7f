"""The asynchronous client against a real server: every method, retries, faults, large messages."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

import grpc
import pytest

from lbclient import (
    Client,
    LookbenchClientError,
    NotFound,
    NotImplementedYet,
    NotReachable,
    Overloaded,
    RetryPolicy,
    RunFailed,
    Unavailable,
    WatchPolicy,
)
from lookbench.v1.benchmark_pb2 import Benchmark
from lookbench.v1.run_pb2 import DenseRetriever, Encoder, QueryResult, Run, System

FAST = RetryPolicy(attempts=3, first_delay=0.01, factor=1.0)
PATIENT = WatchPolicy(patience=20.0, first_delay=0.05, max_delay=0.1)
WANTED = Run(
    benchmark="benchmarks/fm",
    system=System(dense=DenseRetriever(query_encoder=Encoder(model="models/lite0"))),
)


@pytest.fixture
async def client(server):
    async with Client(server.target, retry=FAST, watch=PATIENT) as opened:
        yield opened


def asked(evaluator, method):
    return [request for name, request in evaluator.calls if name == method]


async def test_every_method_of_the_contract_is_there(client, evaluator):
    run = await client.create_run(WANTED, run_id="nightly")
    assert run.name == "runs/nightly"
    assert (await client.get_run("nightly")).name == run.name
    assert [item.name async for item in client.list_runs(benchmark="fm", model="lite0")] == [
        run.name
    ]
    assert (await client.wait_for_report(run)).headline_judgement == "class"
    assert [r.query_id async for r in client.list_query_results("nightly")] == ["q0", "q1", "q2"]
    assert (await client.get_report("nightly")).run.name == run.name
    assert (await client.cancel_run("nightly")).state == Run.CANCELLED
    assert (await client.resume_run("nightly")).state == Run.PENDING
    assert await client.delete_run("nightly") is None
    assert [b.name async for b in client.list_benchmarks()] == ["benchmarks/fm"]
    assert (await client.get_benchmark("fm")).name == "benchmarks/fm"
    imported = await client.import_benchmark("b", format="beir", path="/d", options={"k": "v"})
    assert imported.state == Benchmark.IMPORTING
    states = [b.state async for b in client.watch_benchmark("b", interval=0.01)]
    assert states == [Benchmark.READY]
    assert [m.name async for m in client.list_models()] == ["models/lite0", "models/minilm"]
    assert (await client.get_model("lite0")).dimension == 8
    assert (await client.get_cache()).entry_count == 1200
    pruned = await client.prune_cache(model="lite0", unused_for=timedelta(days=30), max_bytes=0)
    assert (pruned.removed_entry_count, pruned.cache.entry_count) == (1200, 0)
    listed = asked(evaluator, "ListRuns")[0]
    assert (listed.benchmark, listed.model) == ("benchmarks/fm", "models/lite0")
    wanted = asked(evaluator, "PruneCache")[0]
    assert (wanted.name, wanted.model, wanted.max_bytes) == ("cache", "models/lite0", 0)
    assert wanted.HasField("max_bytes")
    assert wanted.unused_for.seconds == 30 * 24 * 3600
    assert not wanted.all


async def test_creation_is_repeated_with_the_same_id_and_makes_one_run(
    client, evaluator, status_with
):
    """The first two answers are lost after the run was stored."""
    evaluator.fail["CreateRun"] = (2, status_with("UNAVAILABLE", "busy", "STORE_UNAVAILABLE"))
    run = await client.create_run(WANTED)
    ids = {request.request_id for request in asked(evaluator, "CreateRun")}
    assert len(asked(evaluator, "CreateRun")) == 3
    assert len(ids) == 1
    assert UUID(ids.pop()).version == 4
    assert list(evaluator.runs) == [run.name]


async def test_attempts_end_with_the_servers_error(client, evaluator, status_with):
    evaluator.fail["CreateRun"] = (9, status_with("UNAVAILABLE", "busy", "STORE_UNAVAILABLE"))
    with pytest.raises(Unavailable, match="busy") as caught:
        await client.create_run(WANTED)
    assert caught.value.reason == "STORE_UNAVAILABLE"
    assert len(asked(evaluator, "CreateRun")) == 3


@pytest.mark.parametrize(
    ("code", "reason"), [("INTERNAL", "INTERNAL"), ("RESOURCE_EXHAUSTED", "QUEUE_FULL")]
)
async def test_nothing_but_unavailable_is_repeated(client, evaluator, status_with, code, reason):
    evaluator.fail["CreateRun"] = (1, status_with(code, "no", reason))
    with pytest.raises(LookbenchClientError):
        await client.create_run(WANTED)
    assert len(asked(evaluator, "CreateRun")) == 1


@pytest.mark.parametrize("method", ["CancelRun", "ResumeRun", "DeleteRun"])
async def test_transitions_are_never_repeated(client, evaluator, status_with, method):
    run = await client.create_run(WANTED)
    evaluator.fail[method] = (1, status_with("UNAVAILABLE", "busy", "STORE_UNAVAILABLE"))
    call = {
        "CancelRun": client.cancel_run,
        "ResumeRun": client.resume_run,
        "DeleteRun": client.delete_run,
    }[method]
    with pytest.raises(Unavailable):
        await call(run.name)
    assert len(asked(evaluator, method)) == 1


async def test_unknown_run_carries_reason_and_metadata(client):
    with pytest.raises(NotFound) as caught:
        await client.get_run("nowhere")
    error = caught.value
    assert (error.code, error.reason) == ("NOT_FOUND", "RUN_NOT_FOUND")
    assert error.metadata == {"name": "x"}
    assert not error.retryable


async def test_nothing_listening_is_said_soon(unused_port):
    began = time.monotonic()
    async with Client(f"127.0.0.1:{unused_port}", retry=FAST) as client:
        with pytest.raises(NotReachable, match=f"nothing answers at 127.0.0.1:{unused_port}"):
            await client.get_run("x")
    assert time.monotonic() - began < 5


async def test_closed_client_opens_a_new_channel(server):
    client = Client(server.target)
    await client.get_model("lite0")
    await client.close()
    assert (await client.get_model("lite0")).name == "models/lite0"
    await client.close()


async def test_page_above_four_mebibytes_comes_through(client, evaluator):
    """1,366 rows of 768 floats as text ids: more than the default limit of 4,194,304 bytes."""
    evaluator.results = [QueryResult(query_id="q" * 3_000_000) for _ in range(2)]
    results = [result async for result in client.list_query_results("x", page_size=1000)]
    assert sum(len(result.query_id) for result in results) == 6_000_000


async def test_page_above_the_clients_limit_says_both_sizes(server, evaluator):
    evaluator.results = [QueryResult(query_id="q" * 3_000_000)]
    async with Client(server.target, max_message_bytes=1 << 20) as client:
        with pytest.raises(Overloaded, match=r"30000\d\d vs. 1048576"):
            _ = [result async for result in client.list_query_results("x")]


async def test_request_above_four_mebibytes_is_answered(client):
    """The server's own default limit speaks here: an error, not a hang."""
    with pytest.raises(Overloaded, match=r"vs\. 4194304"):
        await client.create_run(Run(display_name="x" * 5_000_000))


async def test_watch_goes_on_after_broken_streams(client, evaluator):
    evaluator.drop = 2
    run = await client.create_run(WANTED)
    lost = []
    states = [state async for state in client.watch_run(run, on_lost=lost.append)]
    assert [state.revision for state in states] == [1, 2, 3, 4]
    assert states[-1].state == Run.SUCCEEDED
    assert len(lost) == 2
    assert len(asked(evaluator, "WatchRun")) == 3


async def test_watch_survives_a_restart_of_the_server(client, server, evaluator):
    run = await client.create_run(WANTED)
    evaluator.go_on.clear()
    restart = threading.Timer(0.3, lambda: (server.start(), evaluator.go_on.set()))
    revisions = []
    async for state in client.watch_run(run):
        revisions.append(state.revision)
        if len(revisions) == 1:
            server.stop()
            restart.start()
    restart.join()
    assert revisions == [1, 2, 3, 4]


async def test_watching_what_does_not_exist_fails_at_once(client):
    with pytest.raises(NotFound):
        _ = [state async for state in client.watch_run("nowhere")]


async def test_failed_run_raises_its_own_error(client, evaluator, status_with):
    run = await client.create_run(WANTED)
    stored = evaluator.runs[run.name]
    stored.state = Run.FAILED
    stored.error.CopyFrom(status_with("UNAVAILABLE", "Triton is gone", "TRITON_UNAVAILABLE"))
    with pytest.raises(RunFailed, match=f"{run.name} failed: Triton is gone") as caught:
        await client.wait_for_report(run)
    assert caught.value.reason == "TRITON_UNAVAILABLE"


async def test_server_of_another_kind_is_named(unused_port):
    other = grpc.server(ThreadPoolExecutor(1))
    other.add_insecure_port(f"127.0.0.1:{unused_port}")
    other.start()
    try:
        async with Client(f"127.0.0.1:{unused_port}") as client:
            with pytest.raises(NotImplementedYet, match="is not a LookBench evaluator"):
                await client.get_run("x")
    finally:
        other.stop(grace=0).wait()
