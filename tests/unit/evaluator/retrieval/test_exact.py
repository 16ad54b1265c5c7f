import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookbench_evaluator.retrieval import exact
from lookbench_evaluator.retrieval.blocks import of_array
from lookbench_evaluator.retrieval.errors import EmptyGallery, InvalidVectors, NonFiniteVectors
from lookbench_evaluator.retrieval.exact import float32_error, rank


def reference(queries, gallery, tie_rank, k, exclude=None):
    """Every cosine with exactly rounded sums, rounded to 1e-6, sorted. Items, scores."""

    def cosine(q, x):
        def dot(a, b):
            return math.fsum(s * t for s, t in zip(a, b, strict=True))

        return round(dot(q, x) / (math.sqrt(dot(q, q)) * math.sqrt(dot(x, x))), 6)

    items, scores = [], []
    rows = gallery.astype(float).tolist()
    for position, q in enumerate(queries.astype(float).tolist()):
        left_out = set() if exclude is None else set(exclude[position].tolist())
        places = sorted(
            (-cosine(q, x), tie_rank[row], row) for row, x in enumerate(rows) if row not in left_out
        )[:k]
        padding = k - len(places)
        items.append([row for _, _, row in places] + [-1] * padding)
        scores.append([-score for score, _, _ in places] + [-1.0] * padding)
    return items, scores


def assert_ranked(ranking, expected):
    items, scores = expected
    assert ranking.items.tolist() == items
    assert ranking.scores.tolist() == scores


def vectors(rng, rows, dimension):
    return rng.standard_normal((rows, dimension)).astype(np.float32)


def unit(x):
    return (x / np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(params=[0, 2], ids=["products", "pairs"])
def both_ways(request, monkeypatch):
    """Candidates are scored by a matrix product, then by pairs."""
    monkeypatch.setattr(exact, "_DENSE", request.param)


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(exact, "TILE_ITEMS", 16)
    monkeypatch.setattr(exact, "GROUP_QUERIES", 2)


@pytest.mark.usefixtures("both_ways", "small_tiles")
@pytest.mark.parametrize("dimension", [1, 2, 7, 64, 300])
@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e20])
def test_it_equals_sorting_all_cosines(dimension, scale):
    rng = np.random.default_rng(dimension)
    queries = vectors(rng, 7, dimension)
    gallery = vectors(rng, 100, dimension) * np.float32(scale)
    tie_rank = rng.permutation(100)
    ranking = rank(queries, [(0, gallery)], tie_rank, 12)
    assert_ranked(ranking, reference(queries, gallery, tie_rank, 12))
    assert ranking.item_count == 100


@pytest.mark.usefixtures("both_ways", "small_tiles")
def test_it_tells_apart_what_float32_cannot():
    # Cosines of one cluster differ by less than the error of a float32 product.
    rng = np.random.default_rng(5)
    centre = unit(vectors(rng, 1, 768))
    gallery = unit(centre + vectors(rng, 120, 768) * np.float32(2e-5))
    queries = unit(centre + vectors(rng, 3, 768) * np.float32(1e-2))
    tie_rank = rng.permutation(120)
    cosines = queries.astype(float) @ gallery.astype(float).T
    assert np.ptp(cosines, axis=1).max() < 2 * float32_error(768)
    assert_ranked(
        rank(queries, [(0, gallery)], tie_rank, 10), reference(queries, gallery, tie_rank, 10)
    )


@pytest.mark.usefixtures("both_ways", "small_tiles")
def test_items_with_equal_scores_are_in_tie_order():
    gallery = np.ones((100, 4), dtype=np.float32)
    tie_rank = np.random.default_rng(0).permutation(100)
    ranking = rank(gallery[:5], [(0, gallery)], tie_rank, 10)
    best = np.argsort(tie_rank)[:10].tolist()
    assert ranking.items.tolist() == [best] * 5
    assert ranking.scores.tolist() == [[1.0] * 10] * 5
    assert ranking.ties.tolist() == [9] * 5


def test_scores_that_differ_after_the_sixth_digit_are_equal():
    gallery = np.array([[1, 0], [1, 1e-4], [1, 1e-2]], dtype=np.float32)
    # Cosines with (1, 0): 1, 0.999999995 and 0.99995000.
    ranking = rank(gallery[:1], [(0, gallery)], np.array([1, 0, 2]), 3)
    assert ranking.items.tolist() == [[1, 0, 2]]
    assert ranking.scores.tolist() == [[1.0, 1.0, 0.99995]]
    assert ranking.ties.tolist() == [1]


INTEGER_VECTORS = st.lists(
    st.tuples(*[st.integers(-2, 2)] * 3).filter(any), min_size=1, max_size=40
).map(lambda rows: np.array(rows, dtype=np.float32))


@given(
    INTEGER_VECTORS,
    INTEGER_VECTORS,
    st.integers(1, 12),
    st.integers(1, 50),
    st.integers(1, 9),
    st.randoms(use_true_random=False),
)
def test_nothing_but_vectors_and_tie_order_decides(queries, gallery, k, block, tile, random):
    count = len(gallery)
    tie_rank = np.array(random.sample(range(count), count))
    expected = rank(queries, [(0, gallery)], tie_rank, k)
    assert_ranked(expected, reference(queries, gallery, tie_rank, k))
    moved_to = np.array(random.sample(range(count), count))
    moved, moved_tie = np.empty_like(gallery), np.empty_like(tie_rank)
    moved[moved_to], moved_tie[moved_to] = gallery, tie_rank
    order = np.array(random.sample(range(len(queries)), len(queries)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "TILE_ITEMS", tile)
        patch.setattr(exact, "GROUP_QUERIES", tile)
        blocks = list(of_array(moved, block))
        random.shuffle(blocks)
        result = rank(queries[order], blocks, moved_tie, k)
    places = np.where(expected.present, moved_to[np.maximum(expected.items, 0)], -1)
    np.testing.assert_array_equal(result.items, places[order])
    np.testing.assert_array_equal(result.scores, expected.scores[order])
    np.testing.assert_array_equal(result.ties, expected.ties[order])


@given(INTEGER_VECTORS, st.integers(1, 20), st.integers(1, 20))
def test_a_ranking_is_the_beginning_of_a_deeper_one(gallery, k, more):
    tie_rank = np.arange(len(gallery))[::-1].copy()
    short = rank(gallery, [(0, gallery)], tie_rank, k)
    deep = rank(gallery, [(0, gallery)], tie_rank, k + more)
    np.testing.assert_array_equal(short.items, deep.items[:, :k])
    np.testing.assert_array_equal(short.scores, deep.scores[:, :k])


@pytest.mark.usefixtures("both_ways", "small_tiles")
def test_excluded_items_give_their_place_to_the_next():
    rng = np.random.default_rng(8)
    gallery = vectors(rng, 60, 5)
    itself = np.arange(60)[:, None]
    exclude = np.concatenate([itself, np.full((60, 1), -1), itself, (itself + 3) % 60], axis=1)
    ranking = rank(gallery, [(0, gallery)], np.arange(60), 10, exclude)
    assert_ranked(ranking, reference(gallery, gallery, np.arange(60), 10, exclude))
    assert (ranking.items != itself).all()


def test_a_gallery_smaller_than_k_ends_early():
    gallery = np.eye(3, dtype=np.float32)
    ranking = rank(gallery[:1], [(0, gallery)], np.arange(3), 10)
    assert ranking.items.tolist() == [[0, 1, 2] + [-1] * 7]
    assert ranking.scores.tolist() == [[1.0, 0.0, 0.0] + [-1.0] * 7]
    assert ranking.ties.tolist() == [1]


def test_excluding_can_leave_fewer_than_k():
    gallery = np.eye(2, dtype=np.float32)
    ranking = rank(gallery, [(0, gallery)], np.arange(2), 2, np.array([[0], [1]]))
    assert ranking.items.tolist() == [[1, -1], [0, -1]]


def test_an_empty_gallery_is_refused():
    queries = np.eye(2, dtype=np.float32)
    with pytest.raises(EmptyGallery, match="empty"):
        rank(queries, [], np.arange(0), 1)
    with pytest.raises(EmptyGallery):
        rank(queries, [], np.arange(3), 1)


def test_no_queries_give_an_empty_ranking():
    gallery = np.eye(2, dtype=np.float32)
    assert rank(gallery[:0], [(0, gallery)], np.arange(2), 5).items.shape == (0, 5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0])
def test_every_gallery_row_without_direction_is_named_whatever_the_blocks(bad, small_tiles):
    gallery = np.ones((50, 3), dtype=np.float32)
    gallery[[49, 2, 17]] = bad
    for block in (1, 20, 50):
        with pytest.raises(NonFiniteVectors, match=r"3 gallery vectors.*rows 2, 17, 49") as caught:
            rank(gallery[:1], of_array(gallery, block), np.arange(50), 5)
        assert caught.value.rows.tolist() == [2, 17, 49]
        assert caught.value.side == "gallery"


def test_one_bad_component_is_enough():
    gallery = np.ones((4, 3), dtype=np.float32)
    gallery[1, 2] = np.nan
    with pytest.raises(NonFiniteVectors, match="rows 1;"):
        rank(gallery[:1], [(0, gallery)], np.arange(4), 2)


def test_query_rows_without_direction_are_named():
    queries = np.array([[1, 0], [0, 0], [np.nan, 1]], dtype=np.float32)
    with pytest.raises(NonFiniteVectors, match=r"2 query vectors.*rows 1, 2"):
        rank(queries, [(0, queries[:1])], np.arange(1), 1)


def test_what_is_left_of_a_gallery_with_nan_ranks_by_score():
    # Cosines 0.5, NaN, 0.9, 0.7 with (1, 0): row 1 is reported, the order is 2, 3, 0.
    cosines = [0.5, np.nan, 0.9, 0.7]
    gallery = np.array([[c, math.sqrt(1 - c * c)] for c in cosines], dtype=np.float32)
    query = np.array([[1, 0]], dtype=np.float32)
    with pytest.raises(NonFiniteVectors) as caught:
        rank(query, [(0, gallery)], np.arange(4), 4)
    assert caught.value.rows.tolist() == [1]
    usable = [(0, gallery[:1]), (2, gallery[2:])]
    ranking = rank(query, usable, np.arange(4), 4)
    assert ranking.items.tolist() == [[2, 3, 0, -1]]
    assert ranking.item_count == 3


@pytest.mark.parametrize(
    ("blocks", "problem"),
    [
        ([(0, (3, 2)), (2, (2, 2))], "given twice"),
        ([(3, (3, 2))], "outside a gallery of 5"),
        ([(-1, (3, 2))], "outside"),
        ([(0, (3, 4))], "shape"),
        ([(0, (3,))], "shape"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(blocks, problem):
    queries = np.ones((1, 2), dtype=np.float32)
    ones = [(start, np.ones(shape, dtype=np.float32)) for start, shape in blocks]
    with pytest.raises(InvalidVectors, match=problem):
        rank(queries, ones, np.arange(5), 1)


def test_other_number_types_are_refused():
    with pytest.raises(InvalidVectors, match="float64 instead of float32"):
        rank(np.ones((1, 2)), [], np.arange(1), 1)


@pytest.mark.parametrize("tie_rank", [[0, 0, 1], [1, 2, 3], [-1, 0, 1], [[0], [1], [2]]])
def test_tie_ranks_must_be_a_total_order(tie_rank):
    gallery = np.eye(3, dtype=np.float32)
    with pytest.raises(InvalidVectors, match="tie ranks"):
        rank(gallery, [(0, gallery)], np.array(tie_rank), 1)


def test_depth_and_exclusions_are_checked():
    gallery = np.eye(3, dtype=np.float32)
    with pytest.raises(InvalidVectors, match="depth 0"):
        rank(gallery, [(0, gallery)], np.arange(3), 0)
    with pytest.raises(InvalidVectors, match="excluded row 3"):
        rank(gallery, [(0, gallery)], np.arange(3), 1, np.array([[3], [0], [0]]))


@pytest.mark.parametrize("dimension", [1, 3, 128, 768, 4096])
def test_the_error_bound_covers_float32_products(dimension):
    rng = np.random.default_rng(dimension)
    left, right = unit(np.abs(vectors(rng, 50, dimension))), unit(vectors(rng, 50, dimension))
    right[0] = left[0]
    off = np.abs((left @ right.T) - left.astype(float) @ right.astype(float).T)
    assert off.max() < float32_error(dimension)
    assert float32_error(768) < 1e-4


SCRIPT = """
import hashlib, numpy as np
from lookbench_evaluator.retrieval.exact import rank
x = np.random.default_rng(1).standard_normal((3000, 192)).astype(np.float32)
r = rank(x[:200], [(0, x)], np.arange(3000), 50)
print(hashlib.sha256(r.items.tobytes() + r.scores.tobytes()).hexdigest())
"""


def test_the_number_of_threads_changes_nothing():
    digests = set()
    for threads in ("1", "2", "3"):
        env = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=env, capture_output=True, check=False
        )
        digests.add(done.stdout)
        assert done.returncode == 0, done.stderr
    assert len(digests) == 1
