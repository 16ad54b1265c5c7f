"""Triton's model configuration as typed data, and its text form.

Full enough for `--disable-auto-complete-config`: nothing is left for the server
to guess. Only fields that Triton 2.51 and NVIDIA's images of later years share.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from lookbench_core.ids import is_model_id
from lookbench_core.tensors import GRAPH_DIGEST_PARAMETER
from lookbench_exporter.errors import ExportRefused
from lookbench_exporter.graph_checks import GraphInterface, GraphTensor

DATA_TYPES: Mapping[str, str] = {
    "bool": "TYPE_BOOL",
    "uint8": "TYPE_UINT8",
    "int32": "TYPE_INT32",
    "int64": "TYPE_INT64",
    "float16": "TYPE_FP16",
    "float32": "TYPE_FP32",
}
"""numpy's name → Triton's."""


@dataclass(frozen=True)
class TensorConfig:
    """dims: without the batch; -1 for an axis that varies."""

    name: str
    data_type: str
    dims: tuple[int, ...]

    def __post_init__(self) -> None:
        _require(self.data_type in DATA_TYPES.values(), f"{self.name}: {self.data_type} unknown")
        _require(len(self.dims) > 0, f"{self.name}: no dims besides the batch")
        _require(all(d == -1 or d > 0 for d in self.dims), f"{self.name}: dims {self.dims}")


@dataclass(frozen=True)
class InstanceGroup:
    """How many copies of the model run, and where.

    Always written out: without it a server on CPU starts two copies.
    gpus: device numbers; empty lets Triton use every GPU it sees.
    """

    count: int = 1
    kind: Literal["KIND_CPU", "KIND_GPU"] = "KIND_CPU"
    gpus: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _require(self.count >= 1, f"instance count {self.count}, at least 1")
        _require(self.kind == "KIND_GPU" or not self.gpus, "gpus need KIND_GPU")


@dataclass(frozen=True)
class DynamicBatching:
    """max_queue_delay_us: microseconds that a request waits for company."""

    max_queue_delay_us: int = 1000

    def __post_init__(self) -> None:
        _require(self.max_queue_delay_us >= 0, f"queue delay {self.max_queue_delay_us}")


@dataclass(frozen=True)
class ModelConfig:
    """One model. parameters: passed to the backend as strings."""

    name: str
    max_batch_size: int
    inputs: tuple[TensorConfig, ...]
    outputs: tuple[TensorConfig, ...]
    instances: InstanceGroup = field(default_factory=InstanceGroup)
    batching: DynamicBatching = field(default_factory=DynamicBatching)
    parameters: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _require(is_model_id(self.name), f"{self.name!r} is not a model name")
        _require(self.max_batch_size >= 1, f"max_batch_size {self.max_batch_size}, at least 1")
        _require(len(self.inputs) > 0 and len(self.outputs) > 0, "no inputs or no outputs")


def config_from_graph(
    name: str,
    interface: GraphInterface,
    max_batch_size: int,
    instances: InstanceGroup,
    batching: DynamicBatching,
    *,
    graph_digest: str,
) -> ModelConfig:
    """The configuration of a graph whose batch axes were checked."""
    return ModelConfig(
        name,
        max_batch_size,
        tuple(tensor_config(tensor) for tensor in interface.inputs),
        tuple(tensor_config(tensor) for tensor in interface.outputs),
        instances,
        batching,
        {GRAPH_DIGEST_PARAMETER: graph_digest},
    )


def tensor_config(tensor: GraphTensor) -> TensorConfig:
    """int64 [-1, 128] in the graph → TYPE_INT64 [128] in the configuration."""
    data_type = DATA_TYPES.get(tensor.data_type, tensor.data_type)
    dims = tuple(-1 if size is None else size for size in tensor.shape[1:])
    return TensorConfig(tensor.name, data_type, dims)


def render(config: ModelConfig) -> str:
    """Text of config.pbtxt."""
    blocks = [
        f'name: "{config.name}"',
        'backend: "onnxruntime"',
        f"max_batch_size: {config.max_batch_size}",
        _tensor_list("input", config.inputs),
        _tensor_list("output", config.outputs),
        _instances(config.instances),
        "dynamic_batching {\n"
        f"  max_queue_delay_microseconds: {config.batching.max_queue_delay_us}\n"
        "}",
        "version_policy { latest { num_versions: 1 } }",
        *(_parameter(key, value) for key, value in sorted(config.parameters.items())),
    ]
    return "\n".join(blocks) + "\n"


def _tensor_list(field_name: str, tensors: tuple[TensorConfig, ...]) -> str:
    entries = ",\n".join(
        f'  {{ name: "{t.name}", data_type: {t.data_type}, dims: {list(t.dims)} }}' for t in tensors
    )
    return f"{field_name} [\n{entries}\n]"


def _instances(group: InstanceGroup) -> str:
    gpus = f", gpus: {list(group.gpus)}" if group.gpus else ""
    return f"instance_group [ {{ count: {group.count}, kind: {group.kind}{gpus} }} ]"


def _parameter(key: str, value: str) -> str:
    return f'parameters {{ key: "{_quoted(key)}", value: {{ string_value: "{_quoted(value)}" }} }}'


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ExportRefused("Triton configuration", what)
