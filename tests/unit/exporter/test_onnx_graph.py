import numpy as np
import onnx
import pytest
import torch
from torch import nn

from lookbench_core.digests import file_digest
from lookbench_core.manifest import Output
from lookbench_exporter.errors import ExportRefused
from lookbench_exporter.family import LoadedModel
from lookbench_exporter.graph_checks import check_files, read_interface
from lookbench_exporter.onnx_graph import OPSET, write_graph
from lookbench_exporter.served import GraphSession

VECTORS = {"x": torch.zeros((2, 3))}
BATCH = {"x": {0: "batch"}}


def loaded(module, example=VECTORS, axes=BATCH):
    output = Output(tensor="embedding", dimension=3, pooling="none", normalised=True)
    return LoadedModel("text_embedding", module, example, axes, output, lambda _: None, {})


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x):
        return x * self.weight


class Renamed(nn.Module):
    """Its input is called x."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


def run(folder, **feeds):
    return GraphSession(folder / "model.onnx", "embedding").run(feeds)


def test_a_graph_takes_any_batch_and_gives_the_modules_numbers(tmp_path):
    write_graph(loaded(Scaled()), "m", tmp_path)
    assert read_interface(tmp_path / "model.onnx").opset == OPSET
    for batch in (1, 5):
        x = np.arange(batch * 3, dtype=np.float32).reshape(batch, 3)
        assert run(tmp_path, x=x) == pytest.approx(x * [1, 2, 3])


def test_two_exports_are_the_same_bytes(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        write_graph(loaded(Scaled()), "m", tmp_path / name)
    assert file_digest(tmp_path / "a" / "model.onnx") == file_digest(tmp_path / "b" / "model.onnx")


def test_a_graph_tells_nothing_of_the_machine_that_made_it(tmp_path):
    write_graph(loaded(Scaled()), "m", tmp_path)
    content = (tmp_path / "model.onnx").read_bytes()
    assert b".py" not in content
    assert b"site-packages" not in content


def test_large_weights_go_to_one_file_with_the_models_name(tmp_path):
    # onnx_ir leaves tensors under 256 bytes where they are; this one has 400.
    module = nn.Linear(100, 1, bias=False)
    write_graph(loaded(Renamed(module), {"x": torch.zeros((2, 100))}), "my-model", tmp_path, 0)
    assert {path.name for path in tmp_path.iterdir()} == {"model.onnx", "my-model.weights"}
    check_files(tmp_path)
    total = float(module.weight.detach().sum())
    assert run(tmp_path, x=np.ones((1, 100), np.float32)) == pytest.approx(
        np.array([[total]]), abs=1e-5
    )


def test_an_inner_value_called_embedding_does_not_clash_with_the_output(tmp_path):
    class Looked(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(9, 3)

        def forward(self, ids):
            return self.table(ids).sum(dim=1)

    module = Looked()
    example = {"ids": torch.ones((2, 4), dtype=torch.int64)}
    axes = {"ids": {0: "batch", 1: "tokens"}}
    write_graph(loaded(module, example, axes), "m", tmp_path)
    ids = np.array([[1, 2], [3, 4]])
    expected = module.table.weight.detach().numpy()[ids].sum(axis=1)
    assert run(tmp_path, ids=ids) == pytest.approx(expected, abs=1e-6)


def test_inputs_that_share_an_example_stay_apart(tmp_path):
    class Masked(nn.Module):
        def forward(self, x, mask):
            return x * mask

    same = torch.ones((2, 3))
    axes = {"x": {0: "batch"}, "mask": {0: "batch"}}
    # The example's own order is not that of forward.
    write_graph(loaded(Masked(), {"mask": same, "x": same}, axes), "m", tmp_path)
    answer = run(tmp_path, x=np.full((1, 3), 5, np.float32), mask=np.zeros((1, 3), np.float32))
    assert answer.tolist() == [[0, 0, 0]]


def test_two_outputs_are_refused(tmp_path):
    class Both(nn.Module):
        def forward(self, x):
            return x, x + 1

    with pytest.raises(ExportRefused, match="2 outputs"):
        write_graph(loaded(Both()), "m", tmp_path)


def test_a_module_that_cannot_be_traced_is_refused_in_one_line(tmp_path):
    class Branching(nn.Module):
        def forward(self, x):
            return x if float(x.sum()) > 0 else -x

    with pytest.raises(ExportRefused, match="trace: PyTorch cannot") as caught:
        write_graph(loaded(Branching()), "m", tmp_path)
    assert "\n" not in caught.value.message


def test_the_file_is_valid_onnx(tmp_path):
    write_graph(loaded(Scaled()), "m", tmp_path)
    onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)
