import json

import numpy as np
import pytest
import torch
from torch import nn

from lookbench_core.digests import file_digest
from lookbench_core.manifest import read_manifest
from lookbench_exporter.errors import ExportRefused, ModelExists, SourceInvalid
from lookbench_exporter.export import export
from lookbench_exporter.triton_config import DynamicBatching, InstanceGroup


def steps(_line):
    """Takes progress lines and drops them."""


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.fixture
def run(tiny_source, tmp_path, make_request):
    """Exports a tiny family into `tmp_path/models`."""

    def start(family, **options):
        request = make_request("tiny", str(tiny_source), tmp_path / "models", **options)
        return export(family, request, steps)

    return start


def test_a_model_folder_holds_what_triton_and_the_evaluator_read(lite0, minilm):
    assert names(lite0.folder) == ["1", "1/model.onnx", "config.pbtxt", "lookbench.json"]
    assert names(minilm.folder) == [
        "1", "1/model.onnx", "config.pbtxt", "lookbench.json", "tokenizer.json",
    ]  # fmt: skip


def test_nothing_but_models_stays_in_the_repository(lite0, minilm, repository):
    assert {path.name for path in repository.iterdir()} == {
        "all-minilm-l6-v2",
        "efficientnet-lite0",
    }


@pytest.mark.parametrize("result", ["lite0", "minilm"])
def test_the_manifest_states_graph_and_parity(result, request):
    exported = request.getfixturevalue(result)
    manifest = read_manifest(exported.folder)
    assert manifest == exported.manifest
    assert manifest.graph.digest == file_digest(exported.folder / "1" / "model.onnx")
    assert manifest.graph.opset == 18
    assert manifest.graph.exporter["torch"] == torch.__version__
    assert manifest.parity.worst_cosine > 0.999999
    assert manifest.parity.worst_batch_cosine > 0.999999
    assert manifest.parity.batch_sizes == (1, 8)
    assert manifest.parity.rows >= 8


def test_options_reach_the_configuration(run, tiny_family, tmp_path):
    run(
        tiny_family(),
        name="other",
        max_batch_size=4,
        instances=InstanceGroup(2, "KIND_GPU"),
        batching=DynamicBatching(250),
    )
    text = (tmp_path / "models" / "other" / "config.pbtxt").read_text()
    assert 'name: "other"' in text
    assert "max_batch_size: 4" in text
    assert "count: 2, kind: KIND_GPU" in text
    assert "max_queue_delay_microseconds: 250" in text
    assert read_manifest(tmp_path / "models" / "other").max_batch_size == 4


def wrong_mean(tiny_family):
    class WrongMean(tiny_family):
        """Normalises with another mean than its graph."""

        def reference(self, images):
            return super().reference([image // 2 for image in images])

    return WrongMean()


def not_finite(tiny_family):
    class NotFinite(tiny_family):
        def matrix(self):
            return super().matrix() * torch.inf

    return NotFinite()


def fixed_batch(tiny_family):
    class FixedBatch(tiny_family):
        def load(self, source):
            model = super().load(source)
            return type(model)(**{**vars(model), "axes": {"pixels": {}}})

    return FixedBatch()


def wrong_dimension(tiny_family):
    class WrongDimension(tiny_family):
        def load(self, source):
            model = super().load(source)
            output = model.output.model_copy(update={"dimension": 7})
            return type(model)(**{**vars(model), "output": output})

    return WrongDimension()


def hidden_states(tiny_family):
    class Stacked(nn.Module):
        def __init__(self, tower):
            super().__init__()
            self.tower = tower

        def forward(self, pixels):
            rows = self.tower(pixels)
            return torch.stack([rows, rows, rows], dim=1)

    class HiddenStates(tiny_family):
        def load(self, source):
            model = super().load(source)
            return type(model)(**{**vars(model), "module": Stacked(model.module)})

    return HiddenStates()


def mixed_rows(tiny_family):
    class Mixed(nn.Module):
        """Every row leaks into the others of its batch."""

        def __init__(self, tower):
            super().__init__()
            self.tower = tower

        def forward(self, pixels):
            rows = self.tower(pixels)
            return nn.functional.normalize(rows + rows.mean(dim=0, keepdim=True), dim=-1)

    class MixedRows(tiny_family):
        def load(self, source):
            model = super().load(source)
            return type(model)(**{**vars(model), "module": Mixed(model.module)})

    return MixedRows()


FAULTS = [
    (wrong_mean, "parity: batch 1 against the reference"),
    (not_finite, "finite values"),
    (fixed_batch, "dynamic batch axis"),
    (wrong_dimension, "output"),
    (hidden_states, "output"),
    (mixed_rows, "parity: batch 8 against the reference"),
]


@pytest.mark.parametrize(("fault", "check"), FAULTS)
def test_a_faulty_model_is_refused_and_leaves_nothing(run, tiny_family, tmp_path, fault, check):
    with pytest.raises(ExportRefused, match=check):
        run(fault(tiny_family))
    assert names(tmp_path / "models") == []


def test_a_failed_export_keeps_the_model_that_was_there(run, tiny_family, tmp_path):
    run(tiny_family())
    before = {
        name: (tmp_path / "models" / name).stat().st_mtime_ns for name in names(tmp_path / "models")
    }
    with pytest.raises(ExportRefused):
        run(wrong_mean(tiny_family))
    after = {
        name: (tmp_path / "models" / name).stat().st_mtime_ns for name in names(tmp_path / "models")
    }
    assert after == before


def test_exporting_again_replaces_the_model(run, tiny_family, tiny_source, tmp_path):
    first = run(tiny_family())
    second = run(tiny_family(), max_batch_size=2)
    assert not second.kept
    assert second.folder == first.folder
    assert read_manifest(second.folder).max_batch_size == 2
    assert first.manifest.graph.digest == second.manifest.graph.digest


def test_if_missing_keeps_a_current_export_and_renews_an_outdated_one(
    run, tiny_family, tiny_source
):
    run(tiny_family())
    assert run(tiny_family(), if_missing=True).kept
    assert not run(tiny_family(), if_missing=True, max_batch_size=2).kept
    (tiny_source / "weights.txt").write_text("4")
    assert not run(tiny_family(), if_missing=True, max_batch_size=2).kept


def test_a_model_of_other_origin_is_replaced_only_by_force(run, tiny_family, tmp_path):
    other = tmp_path / "models" / "tiny"
    other.mkdir(parents=True)
    (other / "precious.txt").write_text("keep")
    with pytest.raises(ModelExists, match="--force"):
        run(tiny_family())
    assert (other / "precious.txt").read_text() == "keep"
    run(tiny_family(), force=True)
    assert names(other) == ["1", "1/model.onnx", "config.pbtxt", "lookbench.json"]


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", ""])
def test_a_name_cannot_lead_out_of_the_repository(run, tiny_family, name, monkeypatch):
    monkeypatch.setattr(tiny_family, "model_name", lambda *_: name)
    with pytest.raises(SourceInvalid, match="cannot name a model"):
        run(tiny_family())


def test_a_result_can_be_read_by_people_and_programs(lite0):
    assert json.loads(json.dumps(lite0.as_data()))["manifest"]["output"]["dimension"] == 1280
    assert "worst cosine 1.0000000" in lite0.as_text()
    assert "8 generated pictures, batch 1 and 8" in lite0.as_text()


def test_the_reference_of_the_tiny_family_is_right(tiny_family):
    # The faults above prove something only if the family without them is right.
    image = np.full((4, 4, 3), 150, np.uint8)
    expected = tiny_family().matrix().numpy().sum(axis=1)
    answer = tiny_family().reference([image])[0]
    assert answer == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)
