"""A server that speaks Triton's real protocol and misbehaves as a test asks.

It listens on a TCP port, so that evaluator processes can use it, and runs in threads of
the test's process, so that a behaviour is a plain function:

    server = fake_triton()
    server.behaviour = slow(5)                       # every request from now on
    server.next(queue_full, times=3)                 # the next three, then `behaviour` again
    server.seen.most_running, server.seen.cancelled  # what it saw

It serves `mean-colour` (the colours of an image's quarters) and `letters` (the letters of a
text), see fake_models.py.
"""

import contextlib
import mmap
import socket
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import grpc
import numpy as np
import psutil
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc.service_pb2_grpc import (
    GRPCInferenceServiceServicer,
    add_GRPCInferenceServiceServicer_to_server,
)
from tritonclient.utils import triton_to_np_dtype

# Tests take the models' names from here, beside the server that serves them.
from fake_models import BATCH, COLOURS, DIGEST, LETTERS, MODELS, OTHER_DIGEST, publish  # noqa: F401
from lookbench_core.tensors import EMBEDDING_OUTPUT, GRAPH_DIGEST_PARAMETER

HELD = 60.0


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
                with (
                    contextlib.suppress(OSError),
                    socket.socket(fileno=socket.dup(connection.fd)) as end,
                ):
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
