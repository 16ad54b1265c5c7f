"""The fake speaks the protocol, or what it shows of the evaluator would mean nothing."""

import asyncio
import time
import uuid
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from fake_triton import (
    COLOURS,
    DIGEST,
    LETTERS,
    OTHER_DIGEST,
    dropping,
    failing,
    hanging,
    not_a_number,
    one_row_short,
    other_id,
    other_order,
    publish,
    queue_full,
    slow,
    wrong_dtype,
    wrong_shape,
)
from lookbench_core.manifest import read_manifest
from lookbench_inference.contract import check_contract
from lookbench_inference.texts import Tokenizer
from lookbench_inference.triton import TritonClient

GREY = np.full((3, 8, 8, 3), 9, np.uint8) * np.arange(1, 4, dtype=np.uint8)[:, None, None, None]


def ask(client, pixels, request_id="r1", timeout=20):
    tensor = triton.InferInput("pixels", list(pixels.shape), "UINT8")
    tensor.set_data_from_numpy(pixels)
    return client.infer(COLOURS, [tensor], request_id=request_id, client_timeout=timeout)


@pytest.fixture
def server(fake_triton):
    return fake_triton()


@pytest.fixture
def client(server):
    with triton.InferenceServerClient(server.url) as client:
        yield client


async def test_it_serves_what_its_manifests_describe(server, tmp_path):
    publish(tmp_path)
    client = TritonClient(server.url)
    for name in (COLOURS, LETTERS):
        contract = await client.contract(name)
        assert contract.graph_digest == DIGEST
        check_contract(read_manifest(tmp_path / name), contract)
    server.change(LETTERS, digest=OTHER_DIGEST)
    assert (await client.contract(LETTERS)).graph_digest == OTHER_DIGEST
    server.unloaded.add(COLOURS)
    assert not await client.model_ready(COLOURS)
    assert {e.name: e.ready for e in await client.repository()} == {COLOURS: False, LETTERS: True}
    await client.close()


def test_an_image_becomes_the_colours_of_its_quarters(client, server):
    pixels = np.zeros((1, 8, 8, 3), np.uint8)
    pixels[0, :4, 4:] = (1, 3, 7)
    raw = np.ones(12)
    raw[3:6] = (2, 4, 8)
    vector = ask(client, pixels).as_numpy("embedding")
    np.testing.assert_allclose(vector[0], raw / np.linalg.norm(raw), rtol=1e-6)
    assert (server.seen.accepted, server.seen.answered, server.seen.rows) == (1, 1, 1)
    assert server.seen.ids == ["r1"]


async def test_padding_does_not_change_the_letters_of_a_text(server, tmp_path):
    publish(tmp_path, LETTERS)
    manifest = read_manifest(tmp_path / LETTERS)
    tokenizer, client = Tokenizer(manifest.text, tmp_path / LETTERS), TritonClient(server.url)

    async def vectors(texts):
        padded = tokenizer.pad(tokenizer.encode(texts, "query").ids)
        inputs = {"input_ids": padded.token_ids, "attention_mask": padded.mask}
        return await client.infer(LETTERS, inputs, "embedding", 20)

    together = await vectors(["a", "red silk"])
    assert (
        together.tobytes()
        == np.vstack([await vectors(["a"]), await vectors(["red silk"])]).tobytes()
    )
    assert not np.allclose(together[0], together[1])
    await client.close()


def test_wrong_answers_are_wrong_in_the_way_that_they_say(client, server):
    good = ask(client, GREY).as_numpy("embedding")
    server.next(wrong_shape, one_row_short, not_a_number, other_order, other_id, wrong_dtype)
    assert ask(client, GREY).as_numpy("embedding").shape == (3, 11)
    assert ask(client, GREY).as_numpy("embedding").shape == (2, 12)
    assert np.isnan(ask(client, GREY).as_numpy("embedding")[-1]).any()
    assert (ask(client, GREY).as_numpy("embedding") == good[::-1]).all()
    assert ask(client, GREY).get_response().id == "not-r1"
    assert ask(client, GREY).as_numpy("embedding").dtype == np.float64
    assert (ask(client, GREY).as_numpy("embedding") == good).all()


@pytest.mark.parametrize(
    ("behaviour", "status"),
    [
        (failing("INVALID_ARGUMENT"), "INVALID_ARGUMENT"),
        (queue_full, "UNAVAILABLE"),
    ],
)
def test_refusals_have_the_status_and_pass(client, server, behaviour, status):
    server.next(behaviour, times=2)
    for _ in range(2):
        with pytest.raises(InferenceServerException) as caught:
            ask(client, GREY)
        assert status in str(caught.value.status())
    assert ask(client, GREY).as_numpy("embedding").shape == (3, 12)


def test_a_dropped_connection_ends_every_call_on_it_and_only_those(client, server):
    server.next(dropping)
    with pytest.raises(InferenceServerException, match="UNAVAILABLE"):
        ask(client, GREY)
    fresh = [("grpc.use_local_subchannel_pool", 1)]
    with triton.InferenceServerClient(server.url, channel_args=fresh) as again:
        ask(again, GREY)
    server.wait_idle()
    assert server.seen.cancelled == 1


async def test_it_sees_that_the_caller_has_gone(server):
    client = TritonClient(server.url)
    server.behaviour = hanging
    asking = [
        asyncio.create_task(client.infer(COLOURS, {"pixels": GREY}, "embedding", 20))
        for _ in range(4)
    ]
    while server.seen.running < 4:
        await asyncio.sleep(0.01)
    for task in asking:
        task.cancel()
    await asyncio.to_thread(server.wait_idle)
    assert (server.seen.most_running, server.seen.cancelled, server.seen.answered) == (4, 4, 0)
    await client.close()


def test_a_slow_answer_comes_in_the_end_and_a_deadline_ends_the_call(client, server):
    server.next(slow(0.3), slow(5))
    started = time.monotonic()
    ask(client, GREY)
    assert 0.3 <= time.monotonic() - started < 3
    with pytest.raises(InferenceServerException, match="Deadline"):
        ask(client, GREY, timeout=0.2)


def test_it_stops_as_if_killed_and_starts_again_on_its_port(client, server):
    port = server.port
    ask(client, GREY)
    server.stop()
    with pytest.raises(InferenceServerException) as caught:
        ask(client, GREY)
    assert "UNAVAILABLE" in str(caught.value.status())
    server.start()
    assert server.port == port
    fresh = [("grpc.use_local_subchannel_pool", 1)]  # without the back-off of the first
    with triton.InferenceServerClient(server.url, channel_args=fresh) as again:
        ask(again, GREY)


def test_inputs_travel_through_shared_memory_once_registered(client, server):
    name = f"lookbench-test-{uuid.uuid4().hex}"
    region = Path("/dev/shm") / name
    region.write_bytes(b"\0" * 64 + GREY.tobytes())
    try:
        client.register_system_shared_memory(name, f"/{name}", 64 + GREY.nbytes)
        tensor = triton.InferInput("pixels", list(GREY.shape), "UINT8")
        tensor.set_shared_memory(name, GREY.nbytes, 64)
        shared = client.infer(COLOURS, [tensor]).as_numpy("embedding")
        assert (shared == ask(client, GREY).as_numpy("embedding")).all()
        assert server.seen.in_shared_memory == 1
        assert list(client.get_system_shared_memory_status().regions) == [name]
        client.unregister_system_shared_memory(name)
        with pytest.raises(InferenceServerException, match="Unable to find"):
            client.infer(COLOURS, [tensor])
    finally:
        region.unlink()
    with pytest.raises(InferenceServerException):
        client.register_system_shared_memory(name, f"/{name}", 64)
