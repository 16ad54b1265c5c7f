"""A PyTorch module → an ONNX file, by the dynamo exporter.

1. trace with named dynamic axes
2. drop source paths and stack traces, which differ from machine to machine
3. name the output
4. write one file, or two when protobuf cannot hold it in one
"""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookbench_core.tensors import EMBEDDING_OUTPUT, GRAPH_FILE
from lookbench_exporter.errors import ExportRefused
from lookbench_exporter.family import LoadedModel
from lookbench_exporter.quiet import quiet

if TYPE_CHECKING:
    import onnx_ir

OPSET = 18
"""The oldest that the dynamo exporter writes without conversion: read by every server in use."""

INLINE_LIMIT = 1_900_000_000
"""Bytes of weights that stay inside model.onnx; protobuf ends at 2 GiB, graph included."""


def write_graph(model: LoadedModel, name: str, folder: Path, inline: int = INLINE_LIMIT) -> None:
    """Writes `model.onnx` into `folder`; weights over `inline` bytes into `<name>.weights`.

    The weight file carries the model's name, so that two graphs that are put
    into one folder cannot overwrite each other's.

    Raises ExportRefused when the module cannot be traced.
    """
    with quiet():
        graph = _trace(model)
        _strip(graph)
        _name_output(graph)
        _save(graph, folder / GRAPH_FILE, f"{name}.weights", inline)


def _trace(model: LoadedModel) -> "onnx_ir.Model":
    import torch

    inputs = _in_order(model)
    try:
        program = torch.onnx.export(
            model.module.eval(),
            # Clones: the tracer cannot tell two inputs apart that are one tensor.
            tuple(model.example[name].clone() for name in inputs),
            dynamo=True,
            input_names=inputs,
            dynamic_shapes=tuple(dict(model.axes[name]) for name in inputs),
            opset_version=OPSET,
            verbose=False,
        )
    except Exception as error:  # the exporter raises many types, none of them public
        raise ExportRefused(
            "trace",
            f"PyTorch cannot turn the model into a graph: {_first_line(error)}",
            detail=type(error).__name__,
        ) from error
    if program is None:
        raise ExportRefused("trace", "PyTorch gave no graph")
    return program.model


def _in_order(model: LoadedModel) -> list[str]:
    """Names of the inputs as `forward` takes them."""
    return [name for name in inspect.signature(model.module.forward).parameters]


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _strip(model: "onnx_ir.Model") -> None:
    """Removes what describes the exporting machine and not the model."""
    graphs: list[Any] = [model.graph, *model.functions.values()]
    for owner in [model, *graphs]:
        owner.metadata_props.clear()
    values: list[Any] = [*model.graph.inputs, *model.graph.initializers.values()]
    for node in (n for graph in graphs for n in graph.all_nodes()):
        node.metadata_props.clear()
        node.doc_string = None
        values.extend(node.outputs)
    for value in values:
        value.metadata_props.clear()
        value.doc_string = None


def _name_output(model: "onnx_ir.Model") -> None:
    """Gives the output its name.

    Done here and not by the exporter, which does not notice that an inner value
    has the name already: BERT's embedding layer gives a value `embedding`.
    """
    if len(model.graph.outputs) != 1:
        raise ExportRefused(
            "single output",
            f"the graph has {len(model.graph.outputs)} outputs; export one tower at a time",
            outputs=len(model.graph.outputs),
        )
    for node in model.graph.all_nodes():
        for value in node.outputs:
            if value.name == EMBEDDING_OUTPUT:
                value.name = f"{EMBEDDING_OUTPUT}_inner"
    model.graph.outputs[0].name = EMBEDDING_OUTPUT


def _save(model: "onnx_ir.Model", path: Path, weights_name: str, inline: int) -> None:
    import onnx_ir

    tensors = [value.const_value for value in model.graph.initializers.values()]
    size = sum(tensor.nbytes for tensor in tensors if tensor is not None)
    external = weights_name if size > inline else None
    onnx_ir.save(model, path, external_data=external)
