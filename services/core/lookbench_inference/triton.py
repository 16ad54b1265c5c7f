"""The only place that speaks to Triton (KServe v2 over gRPC, asyncio)."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tritonclient.grpc import InferInput, InferRequestedOutput
from tritonclient.grpc.aio import InferenceServerClient
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from lookbench_core.errors import LookbenchError
from lookbench_core.tensors import GRAPH_DIGEST_PARAMETER
from lookbench_core.triton_reason import clean_reason
from lookbench_inference.errors import (
    InferenceDeadline,
    InferenceFailed,
    ModelContractMismatch,
    ModelNotReady,
    TritonUnavailable,
)

MAX_MESSAGE_BYTES = 2**31 - 1
# tritonclient lifts gRPC's 4 MiB limit only when it sets every channel option
# itself, so the two sizes stand here beside the rest.
CHANNEL_OPTIONS: tuple[tuple[str, object], ...] = (
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.lb_policy_name", "round_robin"),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)
CONTROL_TIMEOUT_S = 5.0


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
    """One channel to one address; `dns:///host:port` balances over all its addresses."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = InferenceServerClient(url, channel_args=list(CHANNEL_OPTIONS))

    async def close(self) -> None:
        """Closes the channel; calls under way fail."""
        await self._client.close()

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
        async with self._translated(name):
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
    ) -> npt.NDArray[np.float32]:
        """One request. Cancelling the awaiting task cancels the call at the server.

        Raises TritonUnavailable, ModelNotReady, ModelContractMismatch (the
        server refused the tensors), InferenceDeadline, InferenceFailed.
        """
        tensors = [_input_tensor(name, array) for name, array in inputs.items()]
        async with self._translated(model):
            result = await self._client.infer(
                model,
                tensors,
                outputs=[InferRequestedOutput(output)],
                client_timeout=timeout_s,
            )
        array = result.as_numpy(output)
        if array is None:
            raise ModelContractMismatch(
                f"model {model} answered without its output {output}", model=model, output=output
            )
        return array  # type: ignore[no-any-return]

    @asynccontextmanager
    async def _translated(self, model: str, *, control: bool = False) -> AsyncIterator[None]:
        try:
            yield
        except InferenceServerException as error:
            status = str(error.status()).removeprefix("StatusCode.")
            if control and status == "DEADLINE_EXCEEDED":  # hung: no better than absent
                status = "UNAVAILABLE"
            told = clean_reason(error.message())
            raise _translate(status, told, self.url, model) from error


def _tensor_contracts(tensors: Any) -> dict[str, TensorContract]:
    return {t.name: TensorContract(t.datatype, tuple(t.shape)) for t in tensors}


def _input_tensor(name: str, array: npt.NDArray[Any]) -> InferInput:
    tensor = InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
    tensor.set_data_from_numpy(np.ascontiguousarray(array))
    return tensor


def _translate(status: str, told: str, url: str, model: str) -> LookbenchError:
    """The most specific of our errors for a status and text of the server's."""
    if status == "UNAVAILABLE" and "not ready" not in told:
        return TritonUnavailable(
            f"Triton at {url} does not answer ({told}); `lbclient status` shows the local stack",
            url=url,
            detail=told,
        )
    known = {"detail": told, "model": model, "url": url}
    match status:
        case "NOT_FOUND" | "UNAVAILABLE":
            return ModelNotReady(f"Triton at {url} does not serve {model}: {told}", **known)
        case "INVALID_ARGUMENT":
            return ModelContractMismatch(f"Triton refused a request to {model}: {told}", **known)
        case "DEADLINE_EXCEEDED":
            return InferenceDeadline(f"model {model} did not answer in time: {told}", **known)
    return InferenceFailed(f"Triton failed to run {model} ({status}): {told}", **known)
