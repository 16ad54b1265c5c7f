"""Triton's `onnxruntime` backend for machines without NVIDIA's image.

Triton's Python stub loads this file as the backend of every model that says
`backend: "onnxruntime"` or `platform: "onnxruntime_onnx"`, so that a model
repository is served unchanged here (CPU) and by NVIDIA's native backend.

Tensors cross the stub as DLPack: with numpy 2 its `Tensor(name, array)` and
`as_numpy()` give wrong data without an error. Nothing but `model.onnx` of the
version folder (and the external data it names) is ever loaded.
"""

import ctypes
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils  # only inside the stub

MODEL_FILE = "model.onnx"
THREADS_VARIABLE = "LOOKBENCH_TRITON_INTRA_OP_THREADS"
DEFAULT_MAX_BATCH_SIZE = 4  # what the native backend fills in
NVIDIA = "serve it with NVIDIA's Triton image"

Config = dict[str, Any]  # a model configuration as Triton's JSON
Arrays = dict[str, np.ndarray]
Member = tuple[int, Arrays]  # position of a request in the batch, its inputs

_WHOLE = ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
_REAL = {"float16": "FP16", "float": "FP32", "double": "FP64"}
TRITON_TYPES = {f"tensor({name})": f"TYPE_{name.upper()}" for name in _WHOLE} | {
    f"tensor({name})": f"TYPE_{triton}" for name, triton in _REAL.items()
}


class ModelRefused(Exception):
    """A configuration or a graph that cannot be served here; the text says what to do."""


class RequestRefused(Exception):
    """One request cannot be answered; `code` is a `pb_utils.TritonError` code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


# --- Tensors across the stub ------------------------------------------------------------

_capsule_set_name = ctypes.pythonapi.PyCapsule_SetName
_capsule_set_name.argtypes = [ctypes.py_object, ctypes.c_char_p]
_USED_CAPSULE = b"used_dltensor"  # must outlive every capsule


class _Shared:
    """An array that remembers the capsule it gave away."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self.capsule: Any = None

    def __dlpack__(self, **_: Any) -> Any:
        self.capsule = self._array.__dlpack__()
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def to_triton(name: str, array: np.ndarray) -> Any:
    """`array` as Triton's tensor, without numpy's own conversion.

    The stub marks the consumed capsule with a name that numpy does not know, and
    numpy then prints an error when it drops it; the standard's name keeps it quiet.
    """
    shared = _Shared(np.ascontiguousarray(array))
    tensor = pb_utils.Tensor.from_dlpack(name, shared)
    _capsule_set_name(shared.capsule, _USED_CAPSULE)
    return tensor


def from_triton(request: Any, name: str) -> np.ndarray:
    """The request's input `name` as an array; it shares memory with the request."""
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    if tensor is None:
        raise RequestRefused(f"input '{name}' is missing", pb_utils.TritonError.INVALID_ARG)
    if 0 in tuple(tensor.shape()):
        raise RequestRefused(f"input '{name}' is empty", pb_utils.TritonError.INVALID_ARG)
    return np.from_dlpack(tensor)


# --- Configuration ----------------------------------------------------------------------


def check_config(config: Config) -> None:
    """Raises ModelRefused for what would be ignored or wrong here."""
    refusals = (
        _accelerator(config),
        _gpu(config),
        _file(config),
        _string_tensors(config),
        _scheduling(config),
    )
    for refusal in refusals:
        if refusal:
            raise ModelRefused(f"model '{config['name']}': {refusal}")


def _accelerator(config: Config) -> str | None:
    blocks = (config.get("optimization") or {}).get("execution_accelerators") or {}
    names = [
        entry.get("name", "?")
        for key in ("gpu_execution_accelerator", "cpu_execution_accelerator")
        for entry in blocks.get(key) or []
    ]
    if names:
        return (
            f"config.pbtxt asks for the execution accelerator {', '.join(names)}, which the "
            f"embedded server does not have; remove the block, or {NVIDIA}"
        )
    return None


def _gpu(config: Config) -> str | None:
    kinds = {group.get("kind") for group in config.get("instance_group") or []}
    if "KIND_GPU" in kinds:
        return (
            "config.pbtxt asks for KIND_GPU and the embedded server runs on the CPU; "
            f"set kind: KIND_CPU, or {NVIDIA}"
        )
    return None


def _file(config: Config) -> str | None:
    name = config.get("default_model_filename") or MODEL_FILE
    if name != MODEL_FILE or config.get("cc_model_filenames"):
        return f"default_model_filename must be {MODEL_FILE}"
    return None


def _string_tensors(config: Config) -> str | None:
    known = set(TRITON_TYPES.values())
    for tensor in [*(config.get("input") or []), *(config.get("output") or [])]:
        if tensor["data_type"] not in known:
            return (
                f"tensor '{tensor['name']}' has {tensor['data_type']}; "
                f"only numeric types are served here; {NVIDIA}"
            )
    return None


def _scheduling(config: Config) -> str | None:
    if any(tensor.get("reshape") for tensor in config.get("output") or []):
        return "an output's reshape is not served here; give the graph's own dims"
    ragged = any(tensor.get("allow_ragged_batch") for tensor in config.get("input") or [])
    if "sequence_batching" in config or ragged or config.get("batch_input"):
        return f"sequence and ragged batches are not served here; {NVIDIA}"
    if (config.get("model_transaction_policy") or {}).get("decoupled"):
        return "a decoupled transaction policy does not fit an ONNX graph"
    return None


def check_graph(config: Config, session: Any) -> None:
    """Raises ModelRefused unless names, types and dimensions match the graph's."""
    pairs = (("input", session.get_inputs()), ("output", session.get_outputs()))
    for key, nodes in pairs:
        in_graph = {node.name: node for node in nodes}
        named = {tensor["name"]: tensor for tensor in config.get(key) or []}
        missing = set(named) - set(in_graph)
        if key == "input":
            missing |= set(in_graph) - set(named)
        if missing:
            raise ModelRefused(
                f"model '{config['name']}': {key}s {sorted(missing)} stand in only one of "
                f"config.pbtxt {sorted(named)} and the graph {sorted(in_graph)}"
            )
        for name, tensor in named.items():
            _check_tensor(config, tensor, in_graph[name])


def _check_tensor(config: Config, tensor: Config, node: Any) -> None:
    dims = (tensor.get("reshape") or {}).get("shape") or tensor["dims"]
    wanted = [-1] * (config["max_batch_size"] > 0) + [int(size) for size in dims]
    found = graph_dims(node)
    fits = len(wanted) == len(found) and all(
        -1 in (a, b) or a == b for a, b in zip(wanted, found, strict=True)
    )
    if TRITON_TYPES.get(node.type) != tensor["data_type"] or not fits:
        raise ModelRefused(
            f"model '{config['name']}': config.pbtxt gives '{tensor['name']}' as "
            f"{tensor['data_type']} {wanted} (batch included), the graph as {node.type} {found}"
        )


def graph_dims(node: Any) -> list[int]:
    """Dimensions of a graph's tensor; -1 where the graph leaves them open or names them."""
    return [size if isinstance(size, int) else -1 for size in node.shape]


def complete_config(completed: Any, session: Any) -> None:
    """Fills in what `completed` (pb_utils.ModelConfig) lacks, as the native backend would."""
    config = completed.as_dict()
    nodes = [*session.get_inputs(), *session.get_outputs()]
    batched = all(graph_dims(node)[:1] == [-1] for node in nodes)
    if config["max_batch_size"] == 0 and batched and not config.get("input"):
        completed.set_max_batch_size(DEFAULT_MAX_BATCH_SIZE)
        completed.set_dynamic_batching()
    skip = int(completed.as_dict()["max_batch_size"] > 0)
    for key, found, add in (
        ("input", session.get_inputs(), completed.add_input),
        ("output", session.get_outputs(), completed.add_output),
    ):
        for node in found if not config.get(key) else ():
            add(
                {
                    "name": node.name,
                    "data_type": TRITON_TYPES.get(node.type, node.type),
                    "dims": graph_dims(node)[skip:],
                }
            )


# --- The session ------------------------------------------------------------------------


def available_cores() -> int:
    """Cores that this process may use: its affinity, and the container's CPU quota."""
    cores = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no cgroup, or the quota "max"
        return cores


def intra_op_threads(config: Config) -> int:
    """Threads of one instance: the variable, else the model's parameter, else its share."""
    parameter = (config.get("parameters") or {}).get("intra_op_thread_count") or {}
    for value in (os.environ.get(THREADS_VARIABLE), parameter.get("string_value")):
        if value and int(value) > 0:
            return int(value)
    instances = sum(int(group.get("count", 1)) for group in config.get("instance_group") or [])
    return max(1, available_cores() // max(1, instances))


def open_session(path: Path | str, threads: int) -> Any:
    """The graph on the CPU. Threads never spin: they would steal the cores of the callers."""
    import onnxruntime  # noqa: PLC0415 - slow, and not needed to accept a complete config

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelRefused(f"onnxruntime cannot open {path}: {error}") from None


# --- Batches ----------------------------------------------------------------------------


def group_by_shape(batch: list[Member]) -> list[list[Member]]:
    """Lists of positions in `batch` whose inputs may be concatenated along axis 0."""
    groups: dict[Any, list[Member]] = {}
    for position, inputs in batch:
        key = tuple((name, a.dtype.str, a.shape[1:]) for name, a in sorted(inputs.items()))
        groups.setdefault(key, []).append((position, inputs))
    return list(groups.values())


def concatenate(members: list[Arrays]) -> Arrays:
    """One feed of several requests' inputs; a single request's arrays are passed through."""
    if len(members) == 1:
        return members[0]
    return {name: np.concatenate([inputs[name] for inputs in members]) for name in members[0]}


def rows_of(inputs: Arrays) -> int:
    """Batch size of one request; its inputs must agree."""
    sizes = {array.shape[0] for array in inputs.values()}
    if len(sizes) != 1:
        raise RequestRefused(
            f"inputs disagree on the batch size: {sorted(sizes)}",
            pb_utils.TritonError.INVALID_ARG,
        )
    return sizes.pop()


def split(outputs: Arrays, sizes: list[int]) -> list[Arrays]:
    """Per request, its rows of every output."""
    total = sum(sizes)
    for name, array in outputs.items():
        if array.ndim == 0 or array.shape[0] != total:
            raise RequestRefused(
                f"output '{name}' has shape {list(array.shape)} for {total} input rows; the "
                "graph does not batch: set max_batch_size: 0 or export it with a batch axis",
                pb_utils.TritonError.INTERNAL,
            )
    stops = np.cumsum(sizes)
    return [
        {name: array[stop - size : stop] for name, array in outputs.items()}
        for size, stop in zip(sizes, stops, strict=True)
    ]


# --- What the stub calls ----------------------------------------------------------------


class TritonPythonModel:
    """One instance of one model."""

    @staticmethod
    def auto_complete_config(completed: Any) -> Any:
        """Called before the configuration is final; it is told no path (the command line is)."""
        config = completed.as_dict()
        check_config(config)
        if not (config.get("input") and config.get("output")):
            stub_arguments = Path("/proc/self/cmdline").read_bytes().split(b"\0")
            complete_config(completed, open_session(os.fsdecode(stub_arguments[1]), 1))
        return completed

    def initialize(self, args: dict[str, str]) -> None:
        """Loads the version's graph; any refusal makes the model unavailable with its text."""
        self._config = json.loads(args["model_config"])
        self._name = args["model_name"]
        check_config(self._config)
        path = Path(args["model_repository"]) / args["model_version"] / MODEL_FILE
        self._session = open_session(path, intra_op_threads(self._config))
        check_graph(self._config, self._session)
        self._batched = self._config["max_batch_size"] > 0
        self._inputs = [tensor["name"] for tensor in self._config["input"]]
        self._outputs = [tensor["name"] for tensor in self._config["output"]]

    def execute(self, requests: list[Any]) -> list[Any]:
        """One response per request, in order; a bad request fails alone."""
        responses: list[Any] = [None] * len(requests)
        batch: list[Member] = []
        for position, request in enumerate(requests):
            try:
                batch.append((position, self._read(request)))
            except Exception as error:
                responses[position] = self._failed(error)
        for group in self._groups(batch):
            for position, outcome in self._run_group(group):
                responses[position] = self._respond(requests[position], outcome)
        return responses

    def _read(self, request: Any) -> Arrays:
        if request.is_cancelled():
            raise RequestRefused("the request was cancelled", pb_utils.TritonError.CANCELLED)
        inputs = {name: from_triton(request, name) for name in self._inputs}
        if self._batched:
            rows_of(inputs)
        return inputs

    def _groups(self, batch: list[Member]) -> list[list[Member]]:
        return group_by_shape(batch) if self._batched else [[member] for member in batch]

    def _run_group(self, group: list[Member]) -> list[tuple[int, Arrays | Exception]]:
        """(position, outputs or the exception) of every member."""
        members = [inputs for _, inputs in group]
        try:
            results = self._run(members)
        except Exception as error:
            if len(group) == 1:
                return [(group[0][0], error)]
            # Which one was at fault? Each alone, so that the others are answered.
            return [pair for member in group for pair in self._run_group([member])]
        return list(zip([position for position, _ in group], results, strict=True))

    def _run(self, members: list[Arrays]) -> list[Arrays]:
        arrays = self._session.run(self._outputs, concatenate(members))
        outputs = dict(zip(self._outputs, arrays, strict=True))
        return split(outputs, [rows_of(m) for m in members]) if self._batched else [outputs]

    def _respond(self, request: Any, outcome: Arrays | Exception) -> Any:
        if isinstance(outcome, Exception):
            return self._failed(outcome)
        wanted = request.requested_output_names()
        try:
            tensors = [to_triton(n, outcome[n]) for n in self._outputs if n in wanted]
        except Exception as error:
            return self._failed(error)
        return pb_utils.InferenceResponse(output_tensors=tensors)

    def _failed(self, error: Exception) -> Any:
        code = getattr(error, "code", None)
        if not isinstance(error, RequestRefused):
            bad_input = type(error).__name__ == "InvalidArgument"  # onnxruntime's
            code = pb_utils.TritonError.INVALID_ARG if bad_input else pb_utils.TritonError.INTERNAL
        text = f"model '{self._name}': {error}"
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(text, code))
