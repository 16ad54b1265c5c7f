"""What must hold of a graph file before Triton may see it.

Each check raises ExportRefused with its name and the figure that failed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookbench_core.manifest import ImageInput, Output, TextInput
from lookbench_core.tensors import (
    ATTENTION_MASK_INPUT,
    GRAPH_FILE,
    IMAGE_INPUT,
    TOKEN_IDS_INPUT,
)
from lookbench_exporter.errors import ExportRefused

Shape = tuple[int | None, ...]
"""None for an axis that varies."""


@dataclass(frozen=True)
class GraphTensor:
    """An input or output. data_type: numpy's name, for example `uint8`."""

    name: str
    data_type: str
    shape: Shape


@dataclass(frozen=True)
class GraphInterface:
    """How a graph looks from outside. opset: version of the default operator set."""

    inputs: tuple[GraphTensor, ...]
    outputs: tuple[GraphTensor, ...]
    opset: int


def check_graph(
    folder: Path, output: Output, image: ImageInput | None, text: TextInput | None
) -> GraphInterface:
    """All checks of a version folder; gives the interface for the configuration.

    folder: holds model.onnx and its weight file, if any.
    """
    check_files(folder)
    check_well_formed(folder / GRAPH_FILE)
    interface = read_interface(folder / GRAPH_FILE)
    check_batch_axes(interface)
    check_inputs(interface, image, text)
    check_output(interface, output)
    return interface


def read_interface(path: Path) -> GraphInterface:
    """Inputs, outputs and opset of a graph file, without reading its weights."""
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = (value for value in model.graph.input if value.name not in constants)
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    return GraphInterface(_tensors(inputs), _tensors(model.graph.output), opset)


def _tensors(values: Iterable[Any]) -> tuple[GraphTensor, ...]:
    import onnx

    def tensor(value: Any) -> GraphTensor:
        kind = value.type.tensor_type
        data_type = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name
        shape = tuple(
            axis.dim_value if axis.HasField("dim_value") else None for axis in kind.shape.dim
        )
        return GraphTensor(value.name, data_type, shape)

    return tuple(tensor(value) for value in values)


def check_well_formed(path: Path) -> None:
    """The file is a valid ONNX model. Checked by path, for models over 2 GB."""
    import onnx

    try:
        onnx.checker.check_model(str(path), full_check=False)
    except onnx.checker.ValidationError as error:
        raise ExportRefused("well-formed graph", f"{path.name}: {error}", file=path.name) from error


def check_batch_axes(interface: GraphInterface) -> None:
    """Axis 0 of every input and output varies: Triton batches on it."""
    for tensor in (*interface.inputs, *interface.outputs):
        if not tensor.shape or tensor.shape[0] is not None:
            raise ExportRefused(
                "dynamic batch axis",
                f"{tensor.name} has shape {_words(tensor.shape)}; its first axis must vary, "
                "export it with a dynamic batch",
                tensor=tensor.name,
                shape=_words(tensor.shape),
            )


def check_inputs(
    interface: GraphInterface, image: ImageInput | None, text: TextInput | None
) -> None:
    """The inputs are the ones that the manifest promises, and no others."""
    expected = expected_inputs(image, text)
    found = {tensor.name: (tensor.data_type, tensor.shape) for tensor in interface.inputs}
    if found != expected:
        raise ExportRefused(
            "inputs",
            f"the graph takes {_list(found)}, its manifest says {_list(expected)}",
            found=_list(found),
            expected=_list(expected),
        )


def expected_inputs(
    image: ImageInput | None, text: TextInput | None
) -> dict[str, tuple[str, Shape]]:
    """Name → data type and shape of every input that a manifest describes."""
    expected: dict[str, tuple[str, Shape]] = {}
    if image is not None:
        expected[IMAGE_INPUT] = ("uint8", (None, image.height, image.width, 3))
    if text is not None:
        length = text.max_tokens if text.padding == "max_tokens" else None
        expected[TOKEN_IDS_INPUT] = ("int64", (None, length))
        if text.has_attention_mask:
            expected[ATTENTION_MASK_INPUT] = ("int64", (None, length))
    return expected


def check_output(interface: GraphInterface, output: Output) -> None:
    """One float32 output [B, D] with the declared name and D.

    Hidden states [B, T, D] taken for an embedding end here.
    """
    found = {tensor.name: (tensor.data_type, tensor.shape) for tensor in interface.outputs}
    expected: dict[str, tuple[str, Shape]] = {output.tensor: ("float32", (None, output.dimension))}
    if found != expected:
        raise ExportRefused(
            "output",
            f"the graph gives {_list(found)}, its manifest says {_list(expected)}",
            found=_list(found),
            expected=_list(expected),
        )


def check_files(folder: Path) -> None:
    """The folder holds model.onnx, the weight files that it names, and nothing else."""
    if not (folder / GRAPH_FILE).is_file():
        raise ExportRefused("graph file", f"{folder} has no {GRAPH_FILE}", folder=folder)
    named = external_files(folder / GRAPH_FILE)
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*")} - {GRAPH_FILE}
    for problem, names in (("missing", named - present), ("stray", present - named)):
        if names:
            raise ExportRefused(
                "weight files",
                f"{problem} beside {GRAPH_FILE}: {', '.join(sorted(names))}",
                problem=problem,
                files=", ".join(sorted(names)),
            )


def external_files(path: Path) -> set[str]:
    """Names of the weight files of a graph.

    Raises ExportRefused for a name that leads out of the graph's folder.
    """
    import onnx
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data

    model = onnx.load(str(path), load_external_data=False)
    tensors = [*model.graph.initializer, *_constants(model.graph)]
    names = {ExternalDataInfo(tensor).location for tensor in tensors if uses_external_data(tensor)}
    for name in names:
        if Path(name).name != name or name in {".", ".."}:
            raise ExportRefused(
                "weight files", f"{path.name} names {name!r}, outside its folder", file=name
            )
    return names


def _constants(graph: Any) -> list[Any]:
    return [
        attribute.t
        for node in graph.node
        for attribute in node.attribute
        if attribute.HasField("t")
    ]


def _list(tensors: dict[str, tuple[str, Shape]]) -> str:
    return ", ".join(
        f"{name} {data_type} {_words(shape)}" for name, (data_type, shape) in tensors.items()
    )


def _words(shape: Shape) -> str:
    return "[" + ", ".join("-1" if size is None else str(size) for size in shape) + "]"
