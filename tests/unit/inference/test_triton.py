import asyncio

import numpy as np
import pytest
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException

from lookbench_core.forks import OpenChannels
from lookbench_inference.errors import (
    InferenceDeadline,
    InferenceFailed,
    ModelContractMismatch,
    ModelNotReady,
    ModelOutputInvalid,
    ModelProcessDead,
    TritonBusy,
    TritonUnavailable,
)
from lookbench_inference.shared_memory import Region, RegionRefused, RegionUnknown
from lookbench_inference.triton import TritonClient

PIXELS = {"pixels": np.arange(12, dtype=np.uint8).reshape(2, 6)}
ANSWER = np.arange(6, dtype=np.float32).reshape(2, 3)


class Result:
    def __init__(self, request_id, array):
        self.request_id, self.array = request_id, array

    def get_response(self):
        return service_pb2.ModelInferResponse(id=self.request_id)

    def as_numpy(self, name):
        if isinstance(self.array, Exception):
            raise self.array
        return self.array if name == "embedding" else None


class Channel:
    """tritonclient's client, scripted: `error`, or an answer made from the request."""

    error = None

    def __init__(self):
        self.requests = []
        self.answer = lambda request_id: Result(request_id, ANSWER)

    async def infer(self, model, tensors, **options):
        if self.error:
            raise self.error
        self.requests.append((tensors, options))
        return self.answer(options["request_id"])

    async def register_system_shared_memory(self, name, key, size, **_):
        if self.error:
            raise self.error

    async def unregister_system_shared_memory(self, name, **_):
        if self.error:
            raise self.error

    async def is_server_live(self, **_):
        if self.error:
            raise self.error
        return True


@pytest.fixture
def channel(monkeypatch):
    channel = Channel()
    made = lambda *_, **__: channel  # noqa: E731
    monkeypatch.setattr("lookbench_inference.triton.InferenceServerClient", made)
    return channel


@pytest.fixture
def client(channel):
    return TritonClient("t:1")


def ask(client, timeout_s=60.0, **options):
    return client.infer("m", PIXELS, "embedding", timeout_s, **options)


def failure(status, text):
    return InferenceServerException(text, f"StatusCode.{status}")


async def test_every_request_has_an_id_of_its_own(client, channel):
    for _ in range(3):
        assert (await ask(client)) is ANSWER
    other = TritonClient("t:1")
    await ask(other)
    assert len({options["request_id"] for _, options in channel.requests}) == 4


@pytest.mark.parametrize("answered", ["", "another"])
async def test_the_answer_of_another_request_is_refused(client, channel, answered):
    channel.answer = lambda _: Result(answered, ANSWER)
    with pytest.raises(ModelOutputInvalid) as caught:
        await ask(client)
    request_id = channel.requests[0][1]["request_id"]
    assert request_id in caught.value.message
    assert (answered or "a request without an id") in caught.value.message


async def test_an_answer_without_the_output_or_with_too_few_bytes_is_refused(client, channel):
    channel.answer = lambda request_id: Result(request_id, None)
    with pytest.raises(ModelContractMismatch, match="without its output embedding"):
        await ask(client)
    channel.answer = lambda request_id: Result(request_id, ValueError("cannot reshape"))
    with pytest.raises(ModelOutputInvalid, match="bytes do not fit its shape: cannot reshape"):
        await ask(client)


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        ("UNAVAILABLE", "failed to connect to all addresses", TritonUnavailable),
        ("UNAVAILABLE", "Stream removed (Socket closed)", TritonUnavailable),
        (
            "UNAVAILABLE",
            "[request id: x] Server is stopping, scheduler for model has stopped accepting new "
            "inference requests",
            TritonUnavailable,
        ),
        ("CANCELLED", "CANCELLED", TritonUnavailable),
        ("UNAVAILABLE", "[request id: x] Exceeds maximum queue size", TritonBusy),
        ("UNAVAILABLE", "[request id: x] Request timeout expired", TritonBusy),
        ("UNAVAILABLE", "Request for unknown model: 'm' is not ready", ModelNotReady),
        ("NOT_FOUND", "Request for unknown model: 'm' has no available versions", ModelNotReady),
        ("NOT_FOUND", "Unable to find shared memory region: 'r'", RegionUnknown),
        ("INVALID_ARGUMENT", "unexpected shape for input 'pixels'", ModelContractMismatch),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", InferenceDeadline),
        ("INTERNAL", "Stub process 'm_0_0' is not healthy.", ModelProcessDead),
        ("INTERNAL", "Failed to process the request(s): division by zero", InferenceFailed),
        ("RESOURCE_EXHAUSTED", "Received message larger than max", InferenceFailed),
    ],
)
async def test_each_refusal_has_its_class(client, channel, status, text, kind):
    channel.error = failure(status, text)
    with pytest.raises(kind) as caught:
        await ask(client)
    assert type(caught.value) is kind
    assert text.rstrip(".") in str(caught.value)


async def test_a_try_gets_what_is_left_of_the_deadline(client, channel):
    now = asyncio.get_running_loop().time()
    await ask(client, timeout_s=60.0)
    await ask(client, timeout_s=60.0, deadline=now + 10)
    await ask(client, timeout_s=2.0, deadline=now + 10)
    await ask(client, timeout_s=2.0, deadline=now - 1)
    whole, left, short, none = (options["client_timeout"] for _, options in channel.requests)
    assert (whole, short, none) == (60.0, 2.0, 0.0)
    assert 9 < left <= 10


async def test_tensors_travel_in_the_message_or_in_the_region(client, channel, tmp_path):
    region = Region(4096, tmp_path)
    await ask(client)
    await ask(client, region=region)
    (inline,), (shared,) = (tensors for tensors, _ in channel.requests)
    assert inline._get_content() == PIXELS["pixels"].tobytes()
    assert shared._get_content() is None
    parameters = shared._get_tensor().parameters
    assert parameters["shared_memory_region"].string_param == region.name
    assert parameters["shared_memory_byte_size"].int64_param == 12
    assert (tmp_path / region.name).read_bytes()[:12] == PIXELS["pixels"].tobytes()
    region.remove()


async def test_registering_fails_by_the_servers_word_or_by_its_absence(client, channel, tmp_path):
    region = Region(64, tmp_path)
    await client.register(region)
    channel.error = failure("ALREADY_EXISTS", "shared memory region 'r' already in manager")
    await client.register(region)
    channel.error = failure("INTERNAL", "Unable to open shared memory region: '/r'")
    with pytest.raises(RegionRefused, match="Unable to open"):
        await client.register(region)
    with pytest.raises(RegionRefused, match="Unable to open"):
        await client.unregister("r")
    for status in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
        channel.error = failure(status, "no answer")
        with pytest.raises(TritonUnavailable):
            await client.register(region)
        with pytest.raises(TritonUnavailable):
            await client.unregister("r")
    region.remove()


async def test_liveness_never_raises(client, channel):
    assert await client.server_live()
    channel.error = failure("UNAVAILABLE", "failed to connect")
    assert not await client.server_live()


async def test_a_process_that_was_forked_with_an_open_client_refuses_instead_of_hanging(
    client, monkeypatch
):
    in_child = OpenChannels()
    in_child.opened(client._channel)
    in_child.keep()
    monkeypatch.setattr("lookbench_inference.triton._OPEN", in_child)
    with pytest.raises(RuntimeError, match="forked while a client was open"):
        await ask(client)
    with pytest.raises(RuntimeError, match=r'get_context\("spawn"\)'):
        TritonClient("t:1")
