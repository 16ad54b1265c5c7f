"""Manifests: read back as written, refused with the file and the field."""

import json

import pytest

from lookbench_core.manifest import (
    Graph,
    ImageInput,
    ManifestInvalid,
    ModelManifest,
    Output,
    Parity,
    Resize,
    Source,
    read_manifest,
    write_manifest,
)

DIGEST = "sha256:" + "0" * 64


@pytest.fixture
def manifest():
    return ModelManifest(
        name="m",
        family="f",
        kind="image_embedding",
        source=Source(kind="folder", id="x", weights_digest=DIGEST),
        graph=Graph(
            digest=DIGEST, opset=18, precision="fp32", files=("1/model.onnx",), exporter={}
        ),
        image=ImageInput(
            height=2,
            width=2,
            mean=(0, 0, 0),
            std=(1, 1, 1),
            presets={"native": Resize(mode="squash", filter="bilinear")},
            default_preset="native",
        ),
        output=Output(tensor="embedding", dimension=3, pooling="mean", normalised=True),
        max_batch_size=8,
        parity=Parity(
            reference="r",
            inputs="i",
            rows=1,
            worst_cosine=1,
            mean_cosine=1,
            batch_sizes=(1,),
            worst_batch_cosine=1,
        ),
    )


def test_a_manifest_is_read_back_as_written(manifest, tmp_path):
    write_manifest(manifest, tmp_path)
    assert read_manifest(tmp_path) == manifest


def test_a_missing_manifest_names_the_file_and_the_command(tmp_path):
    with pytest.raises(ManifestInvalid, match=r"lookbench\.json does not exist.*lookbench-export"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("max_batch_size",), 0, "max_batch_size"),
        (("source", "weights_digest"), "md5:1", "source.weights_digest"),
        (("output", "dimension"), "three", "output.dimension"),
        (("surprise",), 1, "surprise"),
        (("image", "default_preset"), "other", "image"),
        (("kind",), "text_embedding", "image describes"),
    ],
)
def test_a_wrong_field_is_named(manifest, tmp_path, path, value, field):
    data = json.loads(manifest.model_dump_json())
    part = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    (tmp_path / "lookbench.json").write_text(json.dumps(data))
    with pytest.raises(ManifestInvalid, match=field):
        read_manifest(tmp_path)


def test_damaged_json_is_named(tmp_path):
    (tmp_path / "lookbench.json").write_text("{")
    with pytest.raises(ManifestInvalid, match=r"lookbench\.json"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(("mode", "edge"), [("squash", 256), ("shortest_edge_crop", None)])
def test_the_shortest_edge_belongs_to_its_mode(mode, edge):
    with pytest.raises(ValueError, match="shortest_edge"):
        Resize(mode=mode, filter="bilinear", shortest_edge=edge)
