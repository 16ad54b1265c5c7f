"""What a model answers is checked before it is ranked (fault A8), cut before normalised (A16)."""

import numpy as np
import pytest

from lookbench_core.manifest import Graph, ImageInput, ModelManifest, Output, Parity, Resize, Source
from lookbench_inference.errors import ModelOutputInvalid
from lookbench_inference.vectors import checked, shortened

DIGEST = "sha256:" + "0" * 64


def a_manifest(dimension=3, normalised=True):
    return ModelManifest(
        name="lite0",
        family="test",
        kind="image_embedding",
        source=Source(kind="folder", id="x", weights_digest=DIGEST),
        graph=Graph(
            digest=DIGEST, opset=18, precision="fp32", files=("1/model.onnx",), exporter={}
        ),
        image=ImageInput(
            height=8,
            width=8,
            mean=(0, 0, 0),
            std=(1, 1, 1),
            presets={"native": Resize(mode="squash", filter="bilinear")},
            default_preset="native",
        ),
        output=Output(
            tensor="embedding", dimension=dimension, pooling="mean", normalised=normalised
        ),
        max_batch_size=8,
        parity=Parity(
            reference="torch",
            inputs="none",
            rows=1,
            worst_cosine=1,
            mean_cosine=1,
            batch_sizes=(1,),
            worst_batch_cosine=1,
        ),
    )


def rows(*values):
    return np.asarray(values, dtype=np.float32)


def test_good_rows_pass_unchanged():
    answer = rows([1, 0, 0], [0, 0.6, 0.8])
    assert checked(answer, a_manifest(), ["a", "b"]) is answer


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        ([np.nan, 0, 1], "NaN or infinite"),
        ([np.inf, 0, 1], "NaN or infinite"),
        ([0, 0, 0], "zero vector"),
        ([3, 4, 0], "norm other than 1"),
    ],
)
def test_a_bad_row_is_named_with_its_item_and_model(bad, fault):
    answer = rows([1, 0, 0], bad, [0, 1, 0])
    with pytest.raises(ModelOutputInvalid, match=f"lite0.*{fault}.*item-7") as caught:
        checked(answer, a_manifest(), ["item-6", "item-7", "item-8"])
    assert caught.value.metadata["count"] == "1"


def test_hidden_states_are_not_taken_for_embeddings():
    """A 3 x 50 x 768 tensor where (3, 512) was declared (fault A15)."""
    answer = np.zeros((3, 50, 768), dtype=np.float32)
    with pytest.raises(ModelOutputInvalid, match=r"\(3, 512\)"):
        checked(answer, a_manifest(512), ["a", "b", "c"])


@pytest.mark.parametrize("answer", [rows([1, 0, 0]), np.eye(3, dtype=np.float16)[:2]])
def test_a_missing_row_or_another_type_is_refused(answer):
    with pytest.raises(ModelOutputInvalid, match="expected float32"):
        checked(answer, a_manifest(), ["a", "b"])


def test_rows_that_the_model_leaves_unnormalised_are_normalised():
    answer = checked(rows([3, 4, 0]), a_manifest(normalised=False), ["a"])
    np.testing.assert_allclose(answer, [[0.6, 0.8, 0]], rtol=1e-6)


def test_the_cut_comes_before_the_norm():
    """q.a = 0.707107 < q.b = 1.0 after keeping two dimensions; the raw products say otherwise."""
    q = shortened(rows([0.6, 0, 0.8]), 2)[0]
    items = shortened(rows([0.5, 0.5, 0.707107], [0.3, 0, 0.953939]), 2)
    np.testing.assert_allclose(items @ q, [0.707107, 1.0], atol=1e-6)


def test_more_dimensions_than_there_are_is_an_error():
    with pytest.raises(ModelOutputInvalid):
        shortened(rows([1, 0, 0]), 4)


def test_a_row_that_is_zero_after_the_cut_is_an_error():
    with pytest.raises(ModelOutputInvalid, match="zero in its first 2"):
        shortened(rows([0, 0, 1]), 2)
