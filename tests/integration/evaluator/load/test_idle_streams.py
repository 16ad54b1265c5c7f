"""Fault A21: a stream on which nothing happens for a minute stays open."""

import asyncio

import grpc
import pytest

from asking import make_folder
from fake_triton import COLOURS, publish, slow
from lbclient.channel import MAX_MESSAGE_BYTES, open_channel
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2
from lookbench.v1.evaluation_service_pb2_grpc import EvaluationServiceStub

pytestmark = [pytest.mark.load, pytest.mark.timeout(300)]
IDLE_S = 62.0


@pytest.fixture
def server(fake_triton):
    return fake_triton()


@pytest.fixture
def evaluator(make_evaluator, server, data_root, tmp_path):
    evaluator = make_evaluator(
        server.url,
        model_repository=publish(tmp_path / "models"),
        cache_bytes=0,
        request_timeout_s=200,
    )
    rows = [("i", "item", "dark"), ("q", "query", "dark")]
    evaluator.import_benchmark("idle", "image-folder", make_folder(data_root / "idle", rows))
    evaluator.evaluate("idle", COLOURS)
    return evaluator


def channels(target):
    """As lbclient opens it, as gRPC does by default, and one that pings as often as it may."""
    eager = [("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_permit_without_calls", 1)]
    eager.append(("grpc.http2.max_pings_without_data", 0))
    return [
        open_channel(target, MAX_MESSAGE_BYTES),
        grpc.aio.insecure_channel(target),
        grpc.aio.insecure_channel(target, options=eager),
    ]


async def last_state_before_silence(stream):
    """What the stream told before a minute passed without a message, or its end."""
    state = None
    while True:
        reading = asyncio.ensure_future(stream.read())
        done, _ = await asyncio.wait([reading], timeout=IDLE_S)
        if not done:
            return state
        answer = reading.result()
        assert answer is not grpc.aio.EOF, f"the stream ended after {state}"
        state = answer.run.state


async def test_a_watch_without_news_for_a_minute_is_not_disconnected(evaluator, server):
    server.behaviour = slow(IDLE_S + 20)
    run = evaluator.create("idle", COLOURS)
    opened = channels(f"127.0.0.1:{evaluator.port}")
    streams = [
        EvaluationServiceStub(channel).WatchRun(api.WatchRunRequest(name=run.name))
        for channel in opened
    ]
    states = await asyncio.gather(*map(last_state_before_silence, streams))
    assert states == [run_pb2.Run.RUNNING] * 3
    assert not any(stream.done() for stream in streams)
    for channel in opened:
        await channel.close()
