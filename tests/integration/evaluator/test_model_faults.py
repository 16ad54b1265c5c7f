"""Models that a real Triton serves and that must not become numbers."""

import grpc
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2
from lookbench_core.manifest import (
    Graph,
    ImageInput,
    ModelManifest,
    Output,
    Parity,
    Resize,
    Source,
    write_manifest,
)

SIZE = 8
DIGEST = "sha256:" + "0" * 64
CONFIG = """
name: "{name}"
backend: "onnxruntime"
max_batch_size: 8
input [ {{ name: "pixels", data_type: TYPE_UINT8, dims: [8, 8, 3] }} ]
output [ {{ name: "embedding", data_type: TYPE_FP32, dims: [{dims}] }} ]
instance_group [ {{ count: 1, kind: KIND_CPU }} ]
"""


def mean_colour(normalised, spoiled=None):
    """Mean colour of an image, [B, 3]; divided by its norm, so that black gives 0 / 0.

    `spoiled`: what happens to the rows of a batch then: "reversed", or "first" for all.
    """
    nodes = [
        helper.make_node("Cast", ["pixels"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["float", "axes"], ["mean"], keepdims=0),
        helper.make_node("ReduceL2", ["mean", "last"], ["norm"], keepdims=1),
        helper.make_node("Div", ["mean", "norm"], ["unit"]),
        helper.make_node("Identity", ["unit" if normalised else "mean"], ["right"]),
        *SPOILED[spoiled],
    ]
    graph = helper.make_graph(
        nodes,
        "mean_colour",
        [helper.make_tensor_value_info("pixels", TensorProto.UINT8, ["B", SIZE, SIZE, 3])],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["B", 3])],
        [
            numpy_helper.from_array(np.array([1, 2]), "axes"),
            numpy_helper.from_array(np.array([1]), "last"),
            numpy_helper.from_array(np.array([0]), "zero"),
            numpy_helper.from_array(np.array([-1]), "minus_one"),
            numpy_helper.from_array(np.array([np.iinfo(np.int64).min]), "before_all"),
        ],
    )
    opset = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opset, ir_version=10)


SPOILED = {
    None: [helper.make_node("Identity", ["right"], ["embedding"])],
    "reversed": [
        helper.make_node(
            "Slice", ["right", "minus_one", "before_all", "zero", "minus_one"], ["embedding"]
        )
    ],
    "first": [
        helper.make_node("Shape", ["right"], ["shape"]),
        helper.make_node("Gather", ["right", "zero"], ["row"]),
        helper.make_node("Expand", ["row", "shape"], ["embedding"]),
    ],
}


def publish(repository, name, *, normalised=True, dimension=3, spoiled=None):
    folder = repository / name
    (folder / "1").mkdir(parents=True)
    onnx.save(mean_colour(normalised, spoiled), folder / "1/model.onnx")
    (folder / "config.pbtxt").write_text(CONFIG.format(name=name, dims=3))
    write_manifest(
        ModelManifest(
            name=name,
            family="test",
            kind="image_embedding",
            source=Source(kind="folder", id=name, weights_digest=DIGEST),
            graph=Graph(
                digest=DIGEST, opset=18, precision="fp32", files=("1/model.onnx",), exporter={}
            ),
            image=ImageInput(
                height=SIZE,
                width=SIZE,
                mean=(0, 0, 0),
                std=(1, 1, 1),
                presets={"native": Resize(mode="squash", filter="bilinear")},
                default_preset="native",
            ),
            output=Output(tensor="embedding", dimension=dimension, pooling="mean", normalised=True),
            max_batch_size=8,
            parity=Parity(
                reference="none",
                inputs="none",
                rows=1,
                worst_cosine=1,
                mean_cosine=1,
                batch_sizes=(1,),
                worst_batch_cosine=1,
            ),
        ),
        folder,
    )


@pytest.fixture(scope="module")
def faulty(make_evaluator, embedded_triton, data_root, tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    publish(repository, "divides-by-zero")
    publish(repository, "unnormalised", normalised=False)
    publish(repository, "other-dimension", dimension=512)
    publish(repository, "reverses-rows", spoiled="reversed")
    publish(repository, "knows-only-row-0", spoiled="first")
    colours = {"black": (0, 0, 0), "red": (250, 0, 0), "blue": (0, 0, 250)}
    folder = data_root / "colours"
    folder.mkdir()
    lines = ["id,path,split,category"]
    for name, colour in colours.items():
        Image.new("RGB", (SIZE, SIZE), colour).save(folder / f"{name}.png")
        lines += [f"{name},{name}.png,item,{name}"]
    lines += ["query,red.png,query,red"]
    (folder / "labels.csv").write_text("\n".join(lines))
    evaluator = make_evaluator(embedded_triton(repository).grpc_url, model_repository=repository)
    evaluator.import_benchmark("colours", "image-folder", folder)
    return evaluator


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("divides-by-zero", "NaN or infinite value for black"),
        ("unnormalised", "a norm other than 1"),
        ("reverses-rows", "in a batch of 8 unlike the same input alone"),
        ("knows-only-row-0", "in a batch of 8 unlike the same input alone"),
    ],
)
def test_an_embedding_that_cannot_be_ranked_fails_the_run_and_says_which(faulty, model, fault):
    """Faults A8 and A11: never a headline number, never a rank for NaN."""
    run = faulty.wait(faulty.create("colours", model))
    assert run.state == run_pb2.Run.FAILED
    assert fault in run.error.message
    assert model in run.error.message


def test_a_model_that_disagrees_with_its_manifest_is_refused_before_the_run(faulty):
    """Fault A15: 512 dimensions declared, 3 served."""
    with pytest.raises(grpc.RpcError) as caught:
        faulty.create("colours", "other-dimension")
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "(-1, 512)" in caught.value.details()
    assert "(-1, 3)" in caught.value.details()


def test_a_failed_run_can_be_resumed_and_fails_again_for_the_same_reason(faulty):
    run = faulty.wait(faulty.create("colours", "divides-by-zero"))
    again = faulty.wait(faulty.stub.ResumeRun(api.ResumeRunRequest(name=run.name)))
    assert again.error == run.error
