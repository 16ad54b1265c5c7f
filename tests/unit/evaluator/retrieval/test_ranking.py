from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookbench_evaluator.retrieval.errors import InvalidVectors
from lookbench_evaluator.retrieval.exact import rank
from lookbench_evaluator.retrieval.ranking import MICRO, NO_KEY, TotalOrder, merge


@given(st.integers(2, 60), st.integers(1, 12), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_shards_ranked_apart_merge_to_the_whole(count, k, shards, seed):
    rng = np.random.default_rng(seed)
    gallery = rng.integers(1, 4, (count, 3)).astype(np.float32)
    queries = rng.integers(1, 4, (4, 3)).astype(np.float32)
    tie_rank = rng.permutation(count)
    whole = rank(queries, [(0, gallery)], tie_rank, k)
    cuts = [int(cut) for cut in np.linspace(0, count, shards + 1)]
    parts = [
        rank(queries, [(start, gallery[start:stop])], tie_rank, k)
        for start, stop in pairwise(cuts)
        if stop > start
    ]
    merged = merge(parts[::-1], tie_rank, k)
    np.testing.assert_array_equal(merged.items, whole.items)
    np.testing.assert_array_equal(merged.scores, whole.scores)
    np.testing.assert_array_equal(merged.ties, whole.ties)
    assert merged.item_count == whole.item_count == count


def test_shards_must_be_deep_enough_and_of_the_same_queries():
    x = np.eye(3, dtype=np.float32)
    one = rank(x, [(0, x)], np.arange(3), 2)
    other = rank(x[:2], [(0, x)], np.arange(3), 2)
    with pytest.raises(InvalidVectors, match="at least 3 deep"):
        merge([one], np.arange(3), 3)
    with pytest.raises(InvalidVectors, match="shape"):
        merge([one, other], np.arange(3), 2)
    with pytest.raises(InvalidVectors, match="no shards"):
        merge([], np.arange(3), 2)


def test_keys_are_smaller_the_better_the_place_and_unpack():
    order = TotalOrder.of(np.array([2, 0, 1]))
    micro = np.array([MICRO, MICRO, -MICRO])
    keys = order.keys(micro, np.array([0, 1, 2]))
    assert np.argsort(keys).tolist() == [1, 0, 2]
    assert order.micro(keys).tolist() == micro.tolist()


def test_keys_of_a_trillion_items_fit():
    assert 2 * MICRO * 10**12 < NO_KEY


def test_padding_is_masked_and_scores_still_descend():
    x = np.eye(2, dtype=np.float32)
    ranking = rank(-x, [(0, x)], np.arange(2), 3)
    assert ranking.present.tolist() == [[True, True, False]] * 2
    assert ranking.depth == 3
    assert (np.diff(ranking.scores) <= 0).all()
