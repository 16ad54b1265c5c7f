"""The blocking client: the same answers, from code without an event loop."""

import inspect

import pytest

from lbclient import Client, NotFound, SyncClient
from lookbench.v1.run_pb2 import Run


@pytest.fixture
def client(server):
    with SyncClient(server.target) as opened:
        yield opened


def test_every_method_of_the_asynchronous_client_is_there_with_the_same_arguments():
    def methods(kind):
        return {
            name: list(inspect.signature(value).parameters)
            for name, value in vars(kind).items()
            if inspect.isfunction(value) and not name.startswith("_")
        }

    assert methods(SyncClient) == methods(Client)


def test_answers_are_the_same(client):
    run = client.create_run(Run(benchmark="benchmarks/fm"), run_id="a")
    assert client.get_run("a") == run
    assert [state.revision for state in client.watch_run(run)] == [1, 2, 3, 4]
    assert client.wait_for_report("a").run.name == "runs/a"
    assert client.get_report("a").run.name == "runs/a"
    assert [r.query_id for r in client.list_query_results("a")] == ["q0", "q1", "q2"]
    assert [r.name for r in client.list_runs()] == ["runs/a"]
    assert client.cancel_run("a").state == Run.CANCELLED
    assert client.resume_run("a").state == Run.PENDING
    client.delete_run("a")
    client.import_benchmark("b", format="beir", path="/d")
    assert [b.imported_rows for b in client.watch_benchmark("b", interval=0.01)] == [7]
    assert client.get_benchmark("fm").name == "benchmarks/fm"
    assert len(list(client.list_benchmarks())) == 2
    assert [m.name for m in client.list_models()] == ["models/lite0", "models/minilm"]
    assert client.get_model("lite0").name == "models/lite0"
    assert client.prune_cache(everything=True).cache == client.get_cache()


def test_errors_are_the_same(client):
    with pytest.raises(NotFound):
        client.get_run("nowhere")


def test_listing_left_early_does_no_harm(client, evaluator):
    run = client.create_run(Run())
    for _ in client.watch_run(run):
        break
    assert next(iter(client.list_query_results(run.name))).query_id == "q0"
    assert client.get_run(run.name).name == run.name


async def test_inside_an_event_loop_it_refuses(server):
    client = SyncClient(server.target)
    with pytest.raises(RuntimeError, match=r"use lbclient\.Client"):
        client.get_model("lite0")
    with pytest.raises(RuntimeError, match=r"use lbclient\.Client"):
        client.close()
