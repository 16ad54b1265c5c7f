"""The text is read back with NVIDIA's own protobuf definition of the configuration."""

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from lookbench_exporter.errors import ExportRefused
from lookbench_exporter.graph_checks import GraphInterface, GraphTensor
from lookbench_exporter.triton_config import (
    DynamicBatching,
    InstanceGroup,
    ModelConfig,
    TensorConfig,
    config_from_graph,
    render,
    tensor_config,
)

INTERFACE = GraphInterface(
    (
        GraphTensor("input_ids", "int64", (None, None)),
        GraphTensor("attention_mask", "int64", (None, None)),
    ),
    (GraphTensor("embedding", "float32", (None, 384)),),
    opset=18,
)


def parsed(config):
    return text_format.Parse(render(config), model_config_pb2.ModelConfig())


def test_every_field_reaches_triton_as_it_was_meant():
    config = config_from_graph(
        "m.v-1", INTERFACE, 16, InstanceGroup(2), DynamicBatching(750), graph_digest="sha256:1"
    )
    read = parsed(config)
    assert (read.name, read.backend, read.max_batch_size) == ("m.v-1", "onnxruntime", 16)
    assert [(t.name, t.data_type, list(t.dims)) for t in read.input] == [
        ("input_ids", model_config_pb2.TYPE_INT64, [-1]),
        ("attention_mask", model_config_pb2.TYPE_INT64, [-1]),
    ]
    assert [(t.name, t.data_type, list(t.dims)) for t in read.output] == [
        ("embedding", model_config_pb2.TYPE_FP32, [384])
    ]
    group = read.instance_group[0]
    assert (group.count, group.kind) == (2, model_config_pb2.ModelInstanceGroup.KIND_CPU)
    assert read.dynamic_batching.max_queue_delay_microseconds == 750
    assert read.version_policy.latest.num_versions == 1
    assert read.parameters["lookbench_graph_digest"].string_value == "sha256:1"


def test_a_gpu_is_used_only_when_asked_for():
    config = config_from_graph(
        "m",
        INTERFACE,
        8,
        InstanceGroup(1, "KIND_GPU", (0, 1)),
        DynamicBatching(),
        graph_digest="sha256:1",
    )
    group = parsed(config).instance_group[0]
    assert group.kind == model_config_pb2.ModelInstanceGroup.KIND_GPU
    assert list(group.gpus) == [0, 1]


def test_parameters_are_quoted():
    config = ModelConfig(
        "m",
        1,
        (TensorConfig("a", "TYPE_FP32", (2,)),),
        (TensorConfig("b", "TYPE_FP32", (2,)),),
        parameters={"key": 'a "quoted" \\ line\nnext'},
    )
    assert parsed(config).parameters["key"].string_value == 'a "quoted" \\ line\nnext'


def test_dims_of_a_graph_lose_their_batch():
    # Reported fault A18: graph [-1, 128] int64 -> config dims [128].
    assert tensor_config(GraphTensor("ids", "int64", (None, 128))).dims == (128,)
    assert tensor_config(GraphTensor("pixels", "uint8", (None, 224, 224, 3))) == TensorConfig(
        "pixels", "TYPE_UINT8", (224, 224, 3)
    )


@pytest.mark.parametrize("size", [0, -1])
def test_max_batch_size_is_at_least_one(size):
    with pytest.raises(ExportRefused, match="max_batch_size"):
        config_from_graph(
            "m", INTERFACE, size, InstanceGroup(), DynamicBatching(), graph_digest="sha256:1"
        )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: TensorConfig("a", "TYPE_COMPLEX", (1,)),
        lambda: TensorConfig("a", "TYPE_FP32", ()),
        lambda: TensorConfig("a", "TYPE_FP32", (0,)),
        lambda: InstanceGroup(0),
        lambda: InstanceGroup(1, "KIND_CPU", (0,)),
        lambda: DynamicBatching(-1),
        lambda: ModelConfig("../up", 1, (), ()),
        lambda: ModelConfig("m", 1, (), ()),
    ],
)
def test_what_triton_would_refuse_cannot_be_built(wrong):
    with pytest.raises(ExportRefused, match="Triton configuration"):
        wrong()


def test_an_unknown_data_type_is_refused():
    with pytest.raises(ExportRefused, match="float8"):
        tensor_config(GraphTensor("x", "float8", (None, 2)))
