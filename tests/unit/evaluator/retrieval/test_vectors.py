import numpy as np
import pytest

from lookbench_evaluator.retrieval.errors import InvalidVectors
from lookbench_evaluator.retrieval.exact import rank
from lookbench_evaluator.retrieval.vectors import (
    check_vectors,
    cosines,
    directions,
    norms,
    squared_norms,
    unusable_rows,
)


@pytest.mark.parametrize("dimension", [1, 2, 7, 8, 9, 127, 128, 129, 768, 1000])
def test_a_pair_has_one_cosine_whatever_its_company(dimension):
    rng = np.random.default_rng(dimension)
    left = rng.standard_normal((600, dimension)).astype(np.float32)
    right = rng.standard_normal((600, dimension)).astype(np.float32)
    rows, first = np.arange(600), np.zeros(1, dtype=np.int64)
    lengths = norms(left)
    together = cosines(left, lengths, rows, right, rows)
    for i in rows:
        x, y, length = left[i : i + 1], right[i : i + 1], lengths[i : i + 1]
        assert norms(x) == length
        assert cosines(x, length, first, y, first) == together[i]


def test_norms_neither_overflow_nor_vanish():
    x = np.array([[3e38, 0], [1e-45, 0], [3e-30, 4e-30]], dtype=np.float32)
    assert norms(x) == pytest.approx([3e38, 1.4e-45, 5e-30], rel=1e-2)
    assert len(unusable_rows(norms(x))) == 0


def test_rows_without_direction_are_found():
    x = np.array([[0, 0], [1, 0], [np.nan, 0], [np.inf, -np.inf]], dtype=np.float32)
    assert unusable_rows(norms(x)).tolist() == [0, 2, 3]


def test_unit_rows_are_kept_as_they_are():
    x = np.eye(3, dtype=np.float32)
    result, unusable = directions(x, squared_norms(x))
    assert result is x
    assert unusable.tolist() == []


def test_other_rows_are_divided_by_their_norm():
    x = np.array([[1, 0], [3, 4], [1e-45, 0], [3e38, 3e38]], dtype=np.float32)
    result, unusable = directions(x, squared_norms(x))
    np.testing.assert_allclose(result, [[1, 0], [0.6, 0.8], [1, 0], [0.5**0.5] * 2], rtol=1e-6)
    assert x[1].tolist() == [3, 4]
    assert unusable.tolist() == []


def test_rows_that_cannot_be_divided_are_named():
    x = np.array([[0, 0], [2, 0], [np.nan, 1], [1, 0], [np.inf, 0]], dtype=np.float32)
    assert directions(x, squared_norms(x))[1].tolist() == [0, 2, 4]


QUERY = np.array([[0.6, 0, 0.8]], dtype=np.float32)
GALLERY = np.array([[0.5, 0.5, 0.707107], [0.3, 0, 0.953939]], dtype=np.float32)


def test_ranking_takes_cosines_also_of_vectors_that_were_only_cut():
    cut = np.ascontiguousarray(GALLERY[:, :2])
    ranking = rank(np.ascontiguousarray(QUERY[:, :2]), [(0, cut)], np.arange(2), 2)
    assert ranking.scores.tolist() == [[1.0, 0.707107]]


def test_vectors_without_components_are_refused():
    with pytest.raises(InvalidVectors, match="dimension 0"):
        check_vectors("items", np.zeros((3, 0), dtype=np.float32))
