"""Galleries: noise in or out, identical items kept or merged."""

import numpy as np
import pytest

from lookbench_core.benchmark import Subset
from lookbench_core.digests import content_digest
from lookbench_evaluator.benchmarks.collection import Collection
from lookbench_evaluator.benchmarks.content_digests import ContentDigests
from lookbench_evaluator.tasks.gallery import make_gallery

SUBSET = Subset(name="s", queries="q", galleries=("own",), noise=("noise",))


def digests_of(contents):
    return ContentDigests.of(content_digest(content.encode()) for content in contents)


def a_collection(name, ids, digests, labels):
    return Collection(
        name=name,
        modality="image",
        ids=ids,
        labels={"class": np.array(labels, dtype=object)},
        groups=[None] * len(ids),
        times=[None] * len(ids),
        content_digests=digests_of(digests),
    )


@pytest.fixture
def collections():
    own = a_collection("own", ["c", "a", "b"], ["x", "y", "x"], ["1", "2", "3"])
    noise = Collection(
        name="noise",
        modality="image",
        ids=["n1", "n2"],
        labels={},
        groups=[None] * 2,
        times=[None] * 2,
        content_digests=digests_of(["y", "z"]),
    )
    return {"own": own, "noise": noise}


VECTORS = {
    "own": np.arange(6, dtype=np.float32).reshape(3, 2),
    "noise": np.arange(6, 10, dtype=np.float32).reshape(2, 2),
}


def gallery(collections, **options):
    return make_gallery(collections, SUBSET, **{"without_noise": False, "merge": False, **options})


def test_noise_follows_the_own_items_and_is_counted(collections):
    found = gallery(collections)
    assert list(found.ids) == ["c", "a", "b", "n1", "n2"]
    assert found.noise_count == 2
    assert found.labels["class"] == ["1", "2", "3", None, None]


def test_noise_is_left_out_if_asked(collections):
    found = gallery(collections, without_noise=True)
    assert (list(found.ids), found.noise_count) == (["c", "a", "b"], 0)


@pytest.fixture
def files(tmp_path):
    for name, vectors in VECTORS.items():
        np.save(tmp_path / f"{name}.npy", vectors)
    return {name: tmp_path / f"{name}.npy" for name in VECTORS}


def test_blocks_are_the_vectors_in_the_order_of_the_ids(collections, files):
    blocks = list(gallery(collections).blocks(files))
    assert [start for start, _ in blocks] == [0, 3]
    np.testing.assert_array_equal(np.concatenate([b for _, b in blocks])[:, 0], [0, 2, 4, 6, 8])


def test_equal_scores_are_ordered_by_id_not_by_storage(collections):
    assert gallery(collections).tie_rank.tolist() == [2, 0, 1, 3, 4]


def test_merged_items_are_stood_for_by_their_lowest_id(collections, files):
    found = gallery(collections, merge=True)
    assert list(found.ids) == ["a", "b", "n2"]
    assert found.candidate_of.tolist() == [1, 0, 1, 0, 2]
    blocks = found.blocks(files)
    np.testing.assert_array_equal(np.concatenate([b for _, b in blocks])[:, 0], [2, 4, 8])
