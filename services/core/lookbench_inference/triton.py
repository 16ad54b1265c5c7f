"""The only place that speaks to Triton (KServe v2 over gRPC, asyncio)."""

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from tritonclient.grpc import InferInput, InferRequestedOutput, InferResult
from tritonclient.grpc.aio import InferenceServerClient
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from lookbench_core.errors import LookbenchError
from lookbench_core.forks import OpenChannels
from lookbench_core.tensors import GRAPH_DIGEST_PARAMETER
from lookbench_core.triton_reason import clean_reason
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

MAX_MESSAGE_BYTES = 2**31 - 1
# tritonclient lifts gRPC's 4 MiB limit only when it sets every channel option
# itself, so the two sizes stand here beside the rest. No keepalive: Triton ends
# connections that ping more often than every five minutes.
CHANNEL_OPTIONS: tuple[tuple[str, object], ...] = (
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.lb_policy_name", "round_robin"),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # A host that swallows packets is given up after this long, not after 20 s.
    ("grpc.min_reconnect_backoff_ms", 5_000),
)
CONTROL_TIMEOUT_S = 5.0

# What Triton 2.51 says; tests/integration/evaluator/test_real_faults.py holds it to that.
_QUEUE_FULL = ("maximum queue size", "Request timeout expired")
_PROCESS_DEAD = "is not healthy"
_REGION_UNKNOWN = "Unable to find shared memory region"

_OPEN = OpenChannels()


@dataclass(frozen=True)
class TensorContract:
    """Data type in Triton's words (`UINT8`) and shape with -1 for the batch."""

    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ModelContract:
    """What Triton says of a loaded model.

    graph_digest: as in the configuration that was loaded; "" when it has none.
    """

    versions: tuple[str, ...]
    graph_digest: str
    inputs: Mapping[str, TensorContract]
    outputs: Mapping[str, TensorContract]


@dataclass(frozen=True)
class RepositoryEntry:
    """A model of Triton's repository; `reason` says why it is not READY."""

    name: str
    version: str
    ready: bool
    reason: str


class TritonClient:
    """One channel to one address; `dns:///host:port` balances over all its addresses.

    It belongs to the process that made it, and a process that was forked while one was
    open can make none: see lookbench_core.forks.
    """

    def __init__(self, url: str) -> None:
        """Raises RuntimeError in a forked process where gRPC would hang."""
        self.url = url
        self._refuse_if_forked()
        self._channel = InferenceServerClient(url, channel_args=list(CHANNEL_OPTIONS))
        _OPEN.opened(self._channel)
        self._request_ids = map(f"{uuid.uuid4().hex}-{{}}".format, itertools.count(1))

    async def close(self) -> None:
        """Closes the channel; calls under way fail."""
        await self._client.close()

    async def server_live(self) -> bool:
        """Whether the server answers at all; never raises for an absent one."""
        try:
            return bool(await self._client.is_server_live(client_timeout=CONTROL_TIMEOUT_S))
        except InferenceServerException:
            return False

    async def server_ready(self) -> bool:
        """Whether the server answers and says it is ready; never raises for an absent one."""
        try:
            return bool(await self._client.is_server_ready(client_timeout=CONTROL_TIMEOUT_S))
        except InferenceServerException:
            return False

    async def model_ready(self, name: str) -> bool:
        """Whether the server answers for this model.

        Raises TritonUnavailable when there is no server.
        """
        async with self._translated(name, control=True):
            return bool(await self._client.is_model_ready(name, client_timeout=CONTROL_TIMEOUT_S))

    async def repository(self) -> list[RepositoryEntry]:
        """The models that the server knows, loaded or not."""
        async with self._translated("", control=True):
            index = await self._client.get_model_repository_index(client_timeout=CONTROL_TIMEOUT_S)
        return [
            RepositoryEntry(m.name, m.version, m.state == "READY", clean_reason(m.reason))
            for m in index.models
        ]

    async def contract(self, name: str) -> ModelContract:
        """Versions, inputs and outputs of a loaded model.

        Raises ModelNotReady when the server does not have it.
        """
        async with self._translated(name, control=True):
            meta = await self._client.get_model_metadata(name, client_timeout=CONTROL_TIMEOUT_S)
            told = await self._client.get_model_config(name, client_timeout=CONTROL_TIMEOUT_S)
        return ModelContract(
            tuple(meta.versions),
            told.config.parameters[GRAPH_DIGEST_PARAMETER].string_value,
            _tensor_contracts(meta.inputs),
            _tensor_contracts(meta.outputs),
        )

    async def infer(
        self,
        model: str,
        inputs: Mapping[str, npt.NDArray[Any]],
        output: str,
        timeout_s: float,
        deadline: float | None = None,
        *,
        region: Region | None = None,
    ) -> npt.NDArray[np.float32]:
        """One request, asked once. Cancelling the awaiting task cancels the call at the server.

        deadline: event-loop time at which it ends, even if `timeout_s` is longer.
        region: registered shared memory, large enough, through which the inputs travel.

        Raises TritonUnavailable (TritonBusy when only its queue is full), ModelNotReady,
        ModelContractMismatch (the server refused the tensors), InferenceDeadline,
        InferenceFailed (ModelProcessDead when a restart mends it), ModelOutputInvalid
        (the answer is another request's, or holds no such tensor), RegionUnknown.
        """
        request_id = next(self._request_ids)
        if deadline is not None:
            left = deadline - asyncio.get_running_loop().time()
            timeout_s = max(0.0, min(timeout_s, left))
        async with self._translated(model):
            result = await self._client.infer(
                model,
                _in_region(inputs, region) if region else _in_message(inputs),
                request_id=request_id,
                outputs=[InferRequestedOutput(output)],
                client_timeout=timeout_s,
            )
        return self._answer(result, model, output, request_id)

    async def register(self, region: Region) -> None:
        """Makes a region known to the server; once more does no harm.

        Raises RegionRefused when the server cannot open it, TritonUnavailable.
        """
        try:
            await self._client.register_system_shared_memory(
                region.name, region.key, region.size, client_timeout=CONTROL_TIMEOUT_S
            )
        except InferenceServerException as error:
            status = _status(error)
            if status in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
                self._raise(error, "", "UNAVAILABLE")
            if status != "ALREADY_EXISTS":  # names are unique: it is this one
                raise RegionRefused(clean_reason(error.message())) from error

    async def unregister(self, name: str) -> None:
        """Makes the server forget a region.

        Raises RegionRefused while a request uses it, TritonUnavailable.
        """
        try:
            await self._client.unregister_system_shared_memory(
                name, client_timeout=CONTROL_TIMEOUT_S
            )
        except InferenceServerException as error:
            if _status(error) in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
                self._raise(error, "", "UNAVAILABLE")
            raise RegionRefused(clean_reason(error.message())) from error

    async def regions(self) -> list[str]:
        """Names of the shared memory regions that the server knows, whoever made them."""
        async with self._translated("", control=True):
            told = await self._client.get_system_shared_memory_status(
                client_timeout=CONTROL_TIMEOUT_S
            )
        return list(told.regions)

    @property
    def _client(self) -> InferenceServerClient:
        self._refuse_if_forked()
        return self._channel

    def _refuse_if_forked(self) -> None:
        if _OPEN.inherited:
            raise RuntimeError(
                f"cannot ask Triton at {self.url}: this process was forked while a client was "
                "open, and gRPC hangs in it; start workers with "
                'multiprocessing.get_context("spawn")'
            )

    def _answer(
        self, result: InferResult, model: str, output: str, request_id: str
    ) -> npt.NDArray[np.float32]:
        known = {"model": model, "url": self.url}
        answered = result.get_response().id
        if answered != request_id:
            raise ModelOutputInvalid(
                f"Triton at {self.url} answered request {request_id} to {model} with the answer "
                f"of {answered or 'a request without an id'}; look for a proxy between them that "
                "mixes up answers",
                **known,
                asked=request_id,
                answered=answered,
            )
        try:
            array = result.as_numpy(output)
        except (TypeError, ValueError) as error:
            raise ModelOutputInvalid(
                f"model {model} answered an output {output} whose bytes do not fit its shape: "
                f"{error}",
                **known,
                output=output,
            ) from error
        if array is None:
            raise ModelContractMismatch(
                f"model {model} answered without its output {output}", **known, output=output
            )
        return array  # type: ignore[no-any-return]

    @asynccontextmanager
    async def _translated(self, model: str, *, control: bool = False) -> AsyncIterator[None]:
        try:
            yield
        except InferenceServerException as error:
            status = _status(error)
            if control and status == "DEADLINE_EXCEEDED":  # hung: no better than absent
                status = "UNAVAILABLE"
            self._raise(error, model, status)

    def _raise(self, error: InferenceServerException, model: str, status: str) -> NoReturn:
        raise _translate(status, clean_reason(error.message()), self.url, model) from error


def _status(error: InferenceServerException) -> str:
    return str(error.status()).removeprefix("StatusCode.")


def _tensor_contracts(tensors: Any) -> dict[str, TensorContract]:
    return {t.name: TensorContract(t.datatype, tuple(t.shape)) for t in tensors}


def _in_message(inputs: Mapping[str, npt.NDArray[Any]]) -> list[InferInput]:
    tensors = []
    for name, array in inputs.items():
        tensor = InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
        tensors.append(tensor.set_data_from_numpy(np.ascontiguousarray(array)))
    return tensors


def _in_region(inputs: Mapping[str, npt.NDArray[Any]], region: Region) -> list[InferInput]:
    tensors = []
    for name, offset in region.fill(inputs).items():
        array = inputs[name]
        tensor = InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
        tensors.append(tensor.set_shared_memory(region.name, array.nbytes, offset))
    return tensors


def _translate(status: str, told: str, url: str, model: str) -> Exception:
    """The most specific of our errors for a status and text of the server's."""
    if _REGION_UNKNOWN in told:
        return RegionUnknown(told)
    known = {"detail": told, "model": model, "url": url}
    if status in ("UNAVAILABLE", "CANCELLED"):
        return _unavailable(told, url, known)
    match status:
        case "NOT_FOUND":
            return ModelNotReady(f"Triton at {url} does not serve {model}: {told}", **known)
        case "INVALID_ARGUMENT":
            return ModelContractMismatch(f"Triton refused a request to {model}: {told}", **known)
        case "DEADLINE_EXCEEDED":
            return InferenceDeadline(f"model {model} did not answer in time: {told}", **known)
    kind = ModelProcessDead if _PROCESS_DEAD in told else InferenceFailed
    return kind(f"Triton failed to run {model} ({status}): {told}", **known)


def _unavailable(told: str, url: str, known: Mapping[str, str]) -> LookbenchError:
    if "not ready" in told:
        return ModelNotReady(f"Triton at {url} does not serve {known['model']}: {told}", **known)
    if any(words in told for words in _QUEUE_FULL):
        return TritonBusy(
            f"Triton at {url} takes no more requests now ({told}); fewer of them under way "
            "(in_flight), or a longer queue in the model's config.pbtxt, make room",
            **known,
        )
    return TritonUnavailable(
        f"Triton at {url} does not answer ({told}); `lbclient status` shows the local stack",
        **known,
    )
