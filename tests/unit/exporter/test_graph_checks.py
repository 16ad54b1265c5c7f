import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from lookbench_core.manifest import ImageInput, Output, Resize, TextInput
from lookbench_exporter.errors import ExportRefused
from lookbench_exporter.graph_checks import (
    GraphTensor,
    check_batch_axes,
    check_files,
    check_graph,
    check_inputs,
    check_output,
    check_well_formed,
    read_interface,
)

IMAGE = ImageInput(
    height=4,
    width=5,
    mean=(0.0, 0.0, 0.0),
    std=(1.0, 1.0, 1.0),
    presets={"p": Resize(mode="squash", filter="bilinear")},
    default_preset="p",
)
OUTPUT = Output(tensor="embedding", dimension=60, pooling="flat", normalised=True)


def text_input(**changes):
    return TextInput(
        **{
            "tokenizer_file": "tokenizer.json",
            "tokenizer_digest": "sha256:" + "0" * 64,
            "max_tokens": 64,
            "padding": "longest",
            "padding_side": "right",
            "pad_id": 0,
            "pad_token": "[PAD]",
            "has_attention_mask": True,
            "templates": {"query": "{text}"},
            **changes,
        }
    )


def write_graph(folder, inputs, outputs, nodes, constants=()):
    """A graph file from (name, type, shape) triples."""
    folder.mkdir(exist_ok=True)
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*value) for value in outputs],
        list(constants),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 10
    onnx.save(model, folder / "model.onnx")
    return folder


@pytest.fixture
def folder(tmp_path):
    """uint8 [B, 4, 5, 3] → float32 [B, 60]: flattened."""
    return write_graph(
        tmp_path / "1",
        [("pixels", TensorProto.UINT8, ["batch", 4, 5, 3])],
        [("embedding", TensorProto.FLOAT, ["batch", 60])],
        [
            helper.make_node("Flatten", ["pixels"], ["flat"]),
            helper.make_node("Cast", ["flat"], ["embedding"], to=TensorProto.FLOAT),
        ],
    )


def identity(folder, name_in, shape_in, name_out, shape_out, data_type=TensorProto.FLOAT):
    return write_graph(
        folder,
        [(name_in, data_type, shape_in)],
        [(name_out, data_type, shape_out)],
        [helper.make_node("Identity", [name_in], [name_out])],
    )


def test_a_fitting_graph_passes_and_is_described(folder):
    interface = check_graph(folder, OUTPUT, IMAGE, None)
    assert interface.inputs == (GraphTensor("pixels", "uint8", (None, 4, 5, 3)),)
    assert interface.outputs == (GraphTensor("embedding", "float32", (None, 60)),)
    assert interface.opset == 18


def test_a_fixed_batch_is_refused(tmp_path):
    # Reported fault A18: graph input [16, 3, 112, 112].
    shape = [16, 3, 112, 112]
    folder = identity(tmp_path / "1", "pixels", shape, "embedding", shape)
    with pytest.raises(ExportRefused, match=r"dynamic batch axis.*\[16, 3, 112, 112\]") as caught:
        check_batch_axes(read_interface(folder / "model.onnx"))
    assert caught.value.metadata["tensor"] == "pixels"


def test_a_fixed_batch_of_an_output_is_refused(tmp_path):
    folder = identity(tmp_path / "1", "x", ["n", 2], "embedding", [1, 2])
    with pytest.raises(ExportRefused, match="embedding has shape"):
        check_batch_axes(read_interface(folder / "model.onnx"))


def test_hidden_states_are_not_an_embedding(tmp_path):
    # Reported fault A15: 3 x 50 x 768 where [B, 512] was declared.
    folder = identity(tmp_path / "1", "x", ["n", 50, 768], "embedding", ["n", 50, 768])
    output = Output(tensor="embedding", dimension=512, pooling="cls", normalised=True)
    with pytest.raises(ExportRefused, match=r"\[-1, 50, 768\].*\[-1, 512\]"):
        check_output(read_interface(folder / "model.onnx"), output)


@pytest.mark.parametrize(
    ("name", "shape", "data_type"),
    [
        ("embedding", ["n", 767], TensorProto.FLOAT),
        ("embedding", ["n", 768], TensorProto.FLOAT16),
        ("sentence_embedding", ["n", 768], TensorProto.FLOAT),
        ("embedding", ["n", "d"], TensorProto.FLOAT),
    ],
)
def test_another_output_is_refused(tmp_path, name, shape, data_type):
    folder = identity(tmp_path / "1", "x", shape, name, shape, data_type)
    output = Output(tensor="embedding", dimension=768, pooling="cls", normalised=True)
    with pytest.raises(ExportRefused, match="output"):
        check_output(read_interface(folder / "model.onnx"), output)


def test_other_inputs_than_the_manifest_names_are_refused(folder):
    interface = read_interface(folder / "model.onnx")
    larger = IMAGE.model_copy(update={"height": 8})
    with pytest.raises(ExportRefused, match=r"\[-1, 4, 5, 3\].*\[-1, 8, 5, 3\]"):
        check_inputs(interface, larger, None)
    with pytest.raises(ExportRefused, match="attention_mask"):
        check_inputs(interface, None, text_input())


def test_a_fixed_text_length_belongs_to_padding_to_the_maximum(tmp_path):
    folder = identity(
        tmp_path / "1", "input_ids", ["n", 64], "embedding", ["n", 64], TensorProto.INT64
    )
    interface = read_interface(folder / "model.onnx")
    check_inputs(interface, None, text_input(padding="max_tokens", has_attention_mask=False))
    with pytest.raises(ExportRefused, match="inputs"):
        check_inputs(interface, None, text_input(has_attention_mask=False))


def test_a_broken_graph_is_refused(folder, tmp_path):
    path = write_graph(
        tmp_path / "broken",
        [("x", TensorProto.FLOAT, ["n", 2])],
        [("y", TensorProto.FLOAT, ["n", 2])],
        [helper.make_node("Identity", ["nowhere"], ["y"])],
    )
    with pytest.raises(ExportRefused, match="well-formed graph"):
        check_well_formed(path / "model.onnx")


def with_external_weights(folder, location):
    weights = numpy_helper.from_array(np.ones((2,), np.float32), "w")
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "8")):
        weights.external_data.add(key=key, value=value)
    return write_graph(
        folder,
        [("x", TensorProto.FLOAT, ["n", 2])],
        [("y", TensorProto.FLOAT, ["n", 2])],
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [weights],
    )


def test_a_weight_file_must_be_there(tmp_path):
    folder = with_external_weights(tmp_path / "1", "m.weights")
    with pytest.raises(ExportRefused, match=r"missing beside model.onnx: m\.weights"):
        check_files(folder)
    (folder / "m.weights").write_bytes(bytes(8))
    check_files(folder)


def test_stray_files_are_refused(folder):
    (folder / "other.weights").write_bytes(b"x")
    with pytest.raises(ExportRefused, match=r"stray beside model.onnx: other\.weights"):
        check_files(folder)


@pytest.mark.parametrize("location", ["../m.weights", "/etc/passwd", "deep/m.weights", ".."])
def test_a_weight_file_outside_the_folder_is_refused(tmp_path, location):
    with pytest.raises(ExportRefused, match="outside its folder"):
        check_files(with_external_weights(tmp_path / "1", location))


def test_a_folder_without_a_graph_is_refused(tmp_path):
    with pytest.raises(ExportRefused, match=r"model\.onnx"):
        check_files(tmp_path)
