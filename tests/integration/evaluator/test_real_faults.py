"""The real server killed, restarted and emptied under an evaluator, with and without shared memory.

What the client makes of the server's own words (retries, shared memory) is held here to the
server itself; everything else about faults is tried on the fake one, which is quicker.
"""

import asyncio
import re
import shutil
import time
from pathlib import Path
from random import Random

import grpc
import numpy as np
import psutil
import pytest
import tritonclient.grpc as triton_grpc
from grpc_health.v1 import health_pb2

from asking import MODEL, health, make_folder, refused, run_of
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2
from lookbench_evaluator.health import INTERVAL_S
from lookbench_inference.endpoints import connect
from lookbench_inference.errors import ModelProcessDead, TritonBusy
from lookbench_inference.retries import RetryPolicy
from lookbench_inference.shared_memory import FOLDER, PREFIX
from lookbench_inference.triton import TritonClient

PICTURES = np.random.default_rng(5).integers(0, 256, (8, 224, 224, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def start(embedded_triton, models):
    return lambda: embedded_triton(models, "--load", MODEL)


@pytest.fixture(scope="module")
def server(start):
    return start()


@pytest.fixture
async def connected():
    opened = []

    def open_all(*urls, **options):
        triton = connect(",".join(urls), RetryPolicy(60.0), Random(1), **options)
        opened.append(triton)
        return triton

    yield open_all
    for triton in opened:
        await triton.close()


def ask(triton, rows=slice(None)):
    return triton.infer(MODEL, {"pixels": PICTURES[rows]}, "embedding", 60.0)


def processes(server, name):
    children = psutil.Process(server.process.pid).children(recursive=True)
    return [child for child in children if name in child.name()]


def regions(pid):
    return [path.name for path in Path(FOLDER).glob(f"{PREFIX}{pid}-*")]


def known_regions(server):
    with triton_grpc.InferenceServerClient(server.grpc_url) as client:
        return list(client.get_system_shared_memory_status().regions)


async def test_vectors_are_the_same_bits_however_pictures_travel(server, connected):
    through = connected(server.grpc_url, shared_memory="on", region_bytes=PICTURES.nbytes)
    apart = connected(server.grpc_url, shared_memory="off")
    await through.check_shared_memory()
    for rows in (slice(0, 1), slice(3, 6), slice(None)):
        ours, others = await ask(through, rows), await ask(apart, rows)
        assert ours.tobytes() == others.tobytes()
    assert len(known_regions(server)) == 1
    await through.close()
    assert known_regions(server) == []


async def test_many_requests_at_once_through_shared_memory_do_not_mix(server, connected):
    through = connected(server.grpc_url, region_bytes=PICTURES.nbytes)
    apart = connected(server.grpc_url, shared_memory="off")
    alone = np.vstack([await ask(apart, slice(n, n + 1)) for n in range(8)])
    orders = [np.roll(np.arange(8), shift) for shift in range(16)]
    together = await asyncio.gather(
        *(through.infer(MODEL, {"pixels": PICTURES[order]}, "embedding", 60.0) for order in orders)
    )
    for order, answer in zip(orders, together, strict=True):
        np.testing.assert_allclose(answer, alone[order], atol=1e-5)


async def test_a_region_in_use_survives_its_owners_goodbye(server, connected):
    """Unregistered under a running request it would be read after it was unmapped."""
    through = connected(server.grpc_url, region_bytes=PICTURES.nbytes)
    asking = [asyncio.create_task(ask(through)) for _ in range(4)]
    await asyncio.sleep(0.1)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    await through.close()
    apart = connected(server.grpc_url)
    assert (await ask(apart, slice(0, 1))).shape == (1, 1280)
    assert len(processes(server, "tritonserver")) == 1


async def test_a_killed_server_is_waited_for_and_told_of_the_regions_again(server, connected):
    through = connected(server.grpc_url, shared_memory="on", region_bytes=PICTURES.nbytes)
    expected = await ask(through)
    (process,) = processes(server, "tritonserver")
    process.kill()
    answers = await asyncio.gather(*(ask(through) for _ in range(6)))
    assert all(answer.tobytes() == expected.tobytes() for answer in answers)
    await asyncio.gather(*(ask(through) for _ in range(6)))
    assert len(known_regions(server)) >= 1


async def test_a_dead_process_of_a_model_is_known_by_its_words_and_waited_for(server, connected):
    triton = connected(server.grpc_url)
    expected = await ask(triton, slice(0, 1))
    (stub,) = processes(server, "triton_python_b")
    stub.kill()
    client = TritonClient(server.grpc_url)
    with pytest.raises(ModelProcessDead, match="is not healthy"):
        await client.infer(MODEL, {"pixels": PICTURES[:1]}, "embedding", 20.0)
    await client.close()
    assert (await ask(triton, slice(0, 1))).tobytes() == expected.tobytes()


QUEUE = """
dynamic_batching {{
  max_queue_delay_microseconds: 0
  default_queue_policy {{ max_queue_size: {size}, {timeout} }}
}}
"""
REJECT = "timeout_action: REJECT, default_timeout_microseconds: 100000"


@pytest.mark.parametrize("queue", [{"size": 1, "timeout": ""}, {"size": 0, "timeout": REJECT}])
async def test_a_full_queue_is_known_by_its_words_and_asked_again(
    embedded_triton, models, tmp_path, connected, queue
):
    folder = tmp_path / "models" / MODEL
    shutil.copytree(models / MODEL, folder)
    config = folder / "config.pbtxt"
    kept = re.sub(r"(?s)dynamic_batching \{.*?\n\}", "", config.read_text())
    config.write_text(kept + QUEUE.format(**queue))
    server = embedded_triton(tmp_path / "models")
    client = TritonClient(server.grpc_url)

    async def once():
        return await client.infer(MODEL, {"pixels": PICTURES[:4]}, "embedding", 20.0)

    answers = await asyncio.gather(*(once() for _ in range(12)), return_exceptions=True)
    kinds = {type(answer) for answer in answers}
    assert TritonBusy in kinds
    assert kinds <= {np.ndarray, TritonBusy}
    await client.close()
    triton = connected(server.grpc_url)
    await asyncio.gather(*(ask(triton, slice(0, 4)) for _ in range(12)))
    server.stop()


def test_a_run_goes_on_when_one_of_two_servers_is_killed(
    make_evaluator, server, start, fashion_mnist
):
    doomed = start()
    evaluator = make_evaluator(f"{doomed.grpc_url},{server.grpc_url}", cache_bytes=0)
    evaluator.import_benchmark("fm", "fashion-mnist", fashion_mnist, queries="40", items="400")
    undisturbed = evaluator.evaluate("fm", MODEL)
    run = evaluator.create("fm", MODEL)
    for change in evaluator.stub.WatchRun(api.WatchRunRequest(name=run.name), timeout=60):
        if change.run.progress.done:
            assert change.run.state == run_pb2.Run.RUNNING
            break
    (inner,) = processes(doomed, "tritonserver")
    doomed.process.kill()  # first, or it would start another
    inner.kill()
    ended = evaluator.wait(run)
    assert ended.state == run_pb2.Run.SUCCEEDED, ended.error.message
    assert evaluator.report(ended).metrics == undisturbed.metrics


def test_an_evaluator_gives_shared_memory_back_and_its_next_start_what_a_killed_one_left(
    make_evaluator, server, data_root
):
    evaluator = make_evaluator(server.grpc_url, shared_memory="on", cache_bytes=0)
    folder = data_root / "passing"
    make_folder(folder, [("i", "item", "a"), *((f"q{n}", "query", "a") for n in range(20))])
    evaluator.import_benchmark("passing", "image-folder", folder)
    before = evaluator.evaluate("passing", MODEL)
    pid = evaluator.process.pid
    assert regions(pid)
    assert set(regions(pid)) <= set(known_regions(server))
    evaluator.end(kill=True)
    left = regions(pid)
    assert left
    evaluator.start()
    assert evaluator.evaluate("passing", MODEL).metrics == before.metrics
    assert regions(pid) == []
    assert not set(left) & set(known_regions(server))
    pid = evaluator.process.pid
    mine = set(regions(pid))
    assert evaluator.end() == 0
    assert regions(pid) == []
    assert not mine & set(known_regions(server))


def test_a_model_that_is_unloaded_is_named_and_new_runs_on_it_are_refused(
    make_evaluator, server, models, data_root, tmp_path
):
    """Fault A23, with the real server; MODEL is the only one that it was given."""
    repository = tmp_path / "models"
    repository.mkdir()
    (repository / MODEL).symlink_to(models / MODEL)
    evaluator = make_evaluator(server.grpc_url, model_repository=repository)
    folder = data_root / "unloaded"
    make_folder(folder, [("i", "item", "a"), ("q", "query", "a")])
    evaluator.import_benchmark("unloaded", "image-folder", folder)
    report = evaluator.evaluate("unloaded", MODEL)
    states = health_pb2.HealthCheckResponse
    assert health(evaluator, "triton") == states.SERVING
    with triton_grpc.InferenceServerClient(server.grpc_url) as client:
        client.unload_model(MODEL)
        deadline = time.monotonic() + INTERVAL_S + 2  # Triton takes a moment to unload
        while health(evaluator, "triton") == states.SERVING:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert f"not served: {MODEL}" in evaluator.log_file.read_text()
        message, _ = refused(
            evaluator.stub.CreateRun,
            api.CreateRunRequest(run=run_of("unloaded", MODEL)),
            grpc.StatusCode.UNAVAILABLE,
            "MODEL_NOT_READY",
        )
        assert MODEL in message
        assert evaluator.report(report.run) == report
        client.load_model(MODEL)
    deadline = time.monotonic() + 30
    while health(evaluator, "triton") != states.SERVING:
        assert time.monotonic() < deadline
        time.sleep(0.1)
