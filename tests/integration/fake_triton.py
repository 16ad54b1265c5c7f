"""A server that speaks Triton's real protocol and misbehaves as a test asks.

It listens on a TCP port, so that evaluator processes can use it, and runs in threads of
the test's process, so that a behaviour is a plain function:

    server = fake_triton()
    server.behaviour = slow(5)                       # every request from now on
    server.next(queue_full, times=3)                 # the next three, then `behaviour` again
    server.seen.most_running, server.seen.cancelled  # what it saw

It serves two models whose numbers do not depend on how rows are batched or padded:
`mean-colour` (the colours of an image's quarters) and `letters` (the letters of a text).
"""

import contextlib
import mmap
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import grpc
import numpy as np
import psutil
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc.service_pb2_grpc import (
    GRPCInferenceServiceServicer,
    add_GRPCInferenceServiceServicer_to_server,
)
from tritonclient.utils import triton_to_np_dtype

from lookbench_core.digests import file_digest
from lookbench_core.manifest import ModelManifest, write_manifest
from lookbench_core.tensors import (
    ATTENTION_MASK_INPUT,
    CONFIG_FILE,
    EMBEDDING_OUTPUT,
    GRAPH_DIGEST_PARAMETER,
    IMAGE_INPUT,
    TOKEN_IDS_INPUT,
)

SIZE = 8
BATCH = 8
MAX_TOKENS = 64
COLOURS, LETTERS = "mean-colour", "letters"
DIGEST = "sha256:" + "0" * 64
OTHER_DIGEST = "sha256:" + "1" * 64
# One row a code point, drawn once: any text of ASCII has a direction of its own.
DIRECTIONS = np.random.default_rng(7).normal(size=(128, 16))
HELD = 60.0


def colours_of(tensors):
    """Unit vectors float32 [B, 12]: mean RGB of the four quarters, each plus one."""
    pixels = tensors[IMAGE_INPUT].astype(np.float64)
    quarters = pixels.reshape(-1, 2, SIZE // 2, 2, SIZE // 2, 3).mean(axis=(2, 4))
    return unit(quarters.reshape(len(pixels), -1) + 1)


def letters_of(tensors):
    """Unit vectors float32 [B, 16]: the sum of the directions of a text's tokens."""
    rows = zip(tensors[TOKEN_IDS_INPUT], tensors[ATTENTION_MASK_INPUT], strict=True)
    return unit(np.stack([DIRECTIONS[ids[mask == 1]].sum(axis=0) for ids, mask in rows]))


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class Model:
    """What the server tells of a model, and what the model computes."""

    inputs: dict[str, tuple[str, tuple[int, ...]]]
    dimension: int
    compute: Callable
    digest: str = DIGEST
    version: str = "1"


MODELS = {
    COLOURS: Model({IMAGE_INPUT: ("UINT8", (-1, SIZE, SIZE, 3))}, 12, colours_of),
    LETTERS: Model(
        {TOKEN_IDS_INPUT: ("INT64", (-1, -1)), ATTENTION_MASK_INPUT: ("INT64", (-1, -1))},
        16,
        letters_of,
    ),
}


class Call:
    """One ModelInfer: the request, and ways to answer it."""

    def __init__(self, server, request, context):
        self.server, self.request, self.context = server, request, context
        self.model = server.models[request.model_name]
        self.gone = threading.Event()
        context.add_callback(self.gone.set)

    @property
    def rows(self):
        return self.request.inputs[0].shape[0]

    def vectors(self):
        return self.model.compute(self.server.tensors(self))

    def reply(self, vectors, request_id=None, datatype="FP32"):
        vectors = np.ascontiguousarray(vectors, dtype=triton_to_np_dtype(datatype))
        answer = pb.ModelInferResponse(
            model_name=self.request.model_name,
            model_version=self.model.version,
            id=self.request.id if request_id is None else request_id,
            raw_output_contents=[vectors.tobytes()],
        )
        answer.outputs.add(name=EMBEDDING_OUTPUT, datatype=datatype, shape=vectors.shape)
        return answer

    def wait(self, seconds):
        """Ends early when the caller has gone; then the call is over."""
        if self.gone.wait(seconds):
            self.refuse("CANCELLED", "the caller has gone")

    def refuse(self, status, text):
        self.context.abort(grpc.StatusCode[status], text)


def right(call):
    return call.reply(call.vectors())


def slow(seconds):
    def behaviour(call):
        call.wait(seconds)
        return right(call)

    return behaviour


def hanging(call):
    """No answer at all; the test is over long before."""
    call.wait(HELD)
    return right(call)


def failing(status, text="told to fail"):
    return lambda call: call.refuse(status, text)


queue_full = failing("UNAVAILABLE", "[request id: 1] Exceeds maximum queue size")


def dropping(call):
    """The connection breaks in the middle of the call, and with it all others."""
    call.server.drop_connections()
    return hanging(call)


def wrong_shape(call):
    return call.reply(call.vectors()[:, :-1])


def one_row_short(call):
    return call.reply(call.vectors()[:-1])


def not_a_number(call):
    vectors = call.vectors()
    vectors[-1, 0] = np.nan
    return call.reply(vectors)


def other_order(call):
    """Nothing in the answer tells it: only known pictures or texts can."""
    return call.reply(call.vectors()[::-1])


def other_id(call):
    """The answer of another request."""
    return call.reply(call.vectors(), request_id=f"not-{call.request.id}")


def wrong_dtype(call):
    return call.reply(call.vectors(), datatype="FP64")


@dataclass
class Seen:
    """What a server saw of ModelInfer since it was made, or since `forget`."""

    accepted: int = 0
    running: int = 0
    most_running: int = 0
    cancelled: int = 0
    answered: int = 0
    rows: int = 0
    in_shared_memory: int = 0
    ids: list[str] = field(default_factory=list)
    accepted_at: list[float] = field(default_factory=list)


class FakeTriton(GRPCInferenceServiceServicer):
    """Listens on 127.0.0.1 from `start` to `stop`, and again on the same port."""

    def __init__(self, models=None, port=0):
        self.models = dict(models or MODELS)
        self.port = port
        self.behaviour = right
        self.server_ready = True
        self.unloaded = set()
        self.takes_shared_memory = True
        self.regions = {}
        self.seen = Seen()
        self._next = deque()
        self._lock = threading.Lock()
        self._server = None

    @property
    def url(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        options = [("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", -1)]
        self._server = grpc.server(ThreadPoolExecutor(128, "fake-triton"), options=options)
        add_GRPCInferenceServiceServicer_to_server(self, self._server)
        self.port = self._server.add_insecure_port(self.url)
        self._server.start()

    def stop(self):
        """As after a kill: connections break, and nobody listens any more."""
        if self._server is not None:
            self.drop_connections()
            self._server.stop(0).wait(10)
            self._server = None
            self.regions.clear()

    def drop_connections(self):
        for connection in psutil.Process().net_connections("tcp"):
            if connection.laddr.port == self.port and connection.status == "ESTABLISHED":
                with contextlib.suppress(OSError), socket.socket(fileno=dup(connection.fd)) as end:
                    end.shutdown(socket.SHUT_RDWR)

    def next(self, *behaviours, times=1):
        with self._lock:
            self._next.extend(behaviours * times)

    def wait_idle(self, seconds=5.0):
        """Until no request is under way: a caller that has gone is noticed a moment later."""
        deadline = time.monotonic() + seconds
        while self.seen.running:
            assert time.monotonic() < deadline, self.seen
            time.sleep(0.01)

    def forget(self):
        with self._lock:
            self._next.clear()
            self.seen = Seen(running=self.seen.running)

    def change(self, model, **fields):
        """Serves the model otherwise than before: `change("letters", digest=...)`."""
        self.models[model] = replace(self.models[model], **fields)

    # What follows are the RPCs.

    def ServerLive(self, request, context):
        return pb.ServerLiveResponse(live=True)

    def ServerReady(self, request, context):
        return pb.ServerReadyResponse(ready=self.server_ready)

    def ModelReady(self, request, context):
        loaded = request.name in self.models and request.name not in self.unloaded
        return pb.ModelReadyResponse(ready=loaded and self.server_ready)

    def ModelMetadata(self, request, context):
        model = self._loaded(request.name, context)
        told = pb.ModelMetadataResponse(
            name=request.name, versions=[model.version], platform="onnxruntime_onnx"
        )
        for name, (datatype, shape) in model.inputs.items():
            told.inputs.add(name=name, datatype=datatype, shape=shape)
        told.outputs.add(name=EMBEDDING_OUTPUT, datatype="FP32", shape=(-1, model.dimension))
        return told

    def ModelConfig(self, request, context):
        model = self._loaded(request.name, context)
        told = pb.ModelConfigResponse()
        told.config.name, told.config.max_batch_size = request.name, BATCH
        told.config.parameters[GRAPH_DIGEST_PARAMETER].string_value = model.digest
        return told

    def RepositoryIndex(self, request, context):
        told = pb.RepositoryIndexResponse()
        for name, model in self.models.items():
            state = ("UNAVAILABLE", "unloaded") if name in self.unloaded else ("READY", "")
            told.models.add(name=name, version=model.version, state=state[0], reason=state[1])
        return told

    def ModelInfer(self, request, context):
        self._loaded(request.model_name, context)
        call = Call(self, request, context)
        with self._counted(call):
            return self._behaviour()(call)

    def SystemSharedMemoryRegister(self, request, context):
        if not self.takes_shared_memory:
            context.abort(grpc.StatusCode.INTERNAL, "Unable to open shared memory region")
        if request.name in self.regions:
            context.abort(grpc.StatusCode.ALREADY_EXISTS, f"'{request.name}' is registered already")
        try:
            with (Path("/dev/shm") / request.key.lstrip("/")).open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        except (OSError, ValueError) as error:
            context.abort(grpc.StatusCode.INTERNAL, f"Unable to open shared memory region: {error}")
        self.regions[request.name] = (request, mapped)
        return pb.SystemSharedMemoryRegisterResponse()

    def SystemSharedMemoryUnregister(self, request, context):
        for name in [request.name] if request.name else list(self.regions):
            self.regions.pop(name, None)
        return pb.SystemSharedMemoryUnregisterResponse()

    def SystemSharedMemoryStatus(self, request, context):
        told = pb.SystemSharedMemoryStatusResponse()
        for name, (region, _) in self.regions.items():
            known = told.regions[name]
            known.name, known.key, known.byte_size = name, region.key, region.byte_size
        return told

    def _loaded(self, name, context):
        if not self.server_ready:
            context.abort(grpc.StatusCode.UNAVAILABLE, "Server is stopping, no new requests")
        if name not in self.models or name in self.unloaded:
            text = f"Request for unknown model: '{name}' is not found"
            context.abort(grpc.StatusCode.NOT_FOUND, text)
        return self.models[name]

    def _behaviour(self):
        with self._lock:
            return self._next.popleft() if self._next else self.behaviour

    @contextlib.contextmanager
    def _counted(self, call):
        with self._lock:
            seen = self.seen
            seen.accepted += 1
            seen.running += 1
            seen.most_running = max(seen.most_running, seen.running)
            seen.rows += call.rows
            seen.ids.append(call.request.id)
            seen.accepted_at.append(time.monotonic())
        try:
            yield
        finally:
            with self._lock:
                self.seen.running -= 1
                seen.answered += not call.gone.is_set()
                seen.cancelled += call.gone.is_set()

    def tensors(self, call):
        """Name → array of a request, from the message or from shared memory."""
        raw, found = list(call.request.raw_input_contents), {}
        for tensor in call.request.inputs:
            dtype = triton_to_np_dtype(tensor.datatype)
            if "shared_memory_region" in tensor.parameters:
                data = self._shared(tensor, call)
            else:
                data = raw.pop(0)
            found[tensor.name] = np.frombuffer(data, dtype=dtype).reshape(tensor.shape)
        return found

    def _shared(self, tensor, call):
        name = tensor.parameters["shared_memory_region"].string_param
        if name not in self.regions:
            call.refuse("INVALID_ARGUMENT", f"Unable to find shared memory region: '{name}'")
        self.seen.in_shared_memory += 1
        start = tensor.parameters["shared_memory_offset"].int64_param
        size = tensor.parameters["shared_memory_byte_size"].int64_param
        return bytes(self.regions[name][1][start : start + size])


def dup(fd):
    return socket.dup(fd)


def publish(repository, *names, digest=DIGEST):
    """Model folders for an evaluator: manifest, config.pbtxt and tokenizer, no graph."""
    for name in names or MODELS:
        folder = repository / name
        folder.mkdir(parents=True)
        (folder / CONFIG_FILE).write_text(f'name: "{name}"\n')
        write_manifest(manifest_of(name, folder, digest), folder)
    return repository


def manifest_of(name, folder, digest=DIGEST):
    side = image_side() if name == COLOURS else text_side(folder)
    return ModelManifest.model_validate(
        {
            "name": name,
            "family": "test",
            "source": {"kind": "folder", "id": name, "weights_digest": DIGEST},
            "graph": {
                "digest": digest,
                "opset": 18,
                "precision": "fp32",
                "files": ["1/model.onnx"],
                "exporter": {},
            },
            "output": {
                "tensor": EMBEDDING_OUTPUT,
                "dimension": MODELS[name].dimension,
                "pooling": "mean",
                "normalised": True,
            },
            "max_batch_size": BATCH,
            "parity": {
                "reference": "none",
                "inputs": "none",
                "rows": 1,
                "worst_cosine": 1,
                "mean_cosine": 1,
                "batch_sizes": [1],
                "worst_batch_cosine": 1,
            },
            **side,
        }
    )


def image_side():
    return {
        "kind": "image_embedding",
        "image": {
            "height": SIZE,
            "width": SIZE,
            "mean": [0, 0, 0],
            "std": [1, 1, 1],
            "presets": {"native": {"mode": "squash", "filter": "bilinear"}},
            "default_preset": "native",
        },
    }


def text_side(folder):
    """A tokenizer of single characters; those that are no printable ASCII are [UNK]."""
    vocabulary = {"[PAD]": 0, "[UNK]": 1, **{chr(code): code for code in range(32, 127)}}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Split("", "isolated")
    tokenizer.save(str(folder / "tokenizer.json"))
    return {
        "kind": "text_embedding",
        "text": {
            "tokenizer_file": "tokenizer.json",
            "tokenizer_digest": file_digest(folder / "tokenizer.json"),
            "max_tokens": MAX_TOKENS,
            "padding": "longest",
            "padding_side": "right",
            "pad_id": 0,
            "pad_token": "[PAD]",
            "has_attention_mask": True,
            "templates": {"query": "{text}", "document": "{text}"},
        },
    }
