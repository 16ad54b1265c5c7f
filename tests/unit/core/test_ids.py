"""Names that may be resources and paths, and the order of items with equal scores."""

import pytest

from lookbench_core.ids import code_point_rank, is_model_id, is_resource_id


@pytest.mark.parametrize("name", ["a", "fashion-mnist", "run-0123", "x" * 63])
def test_resource_ids(name):
    assert is_resource_id(name)


@pytest.mark.parametrize("name", ["", "A", "-a", "a-", "a/b", "..", "a b", "é", "x" * 64, "a\n"])
def test_what_is_no_resource_id(name):
    assert not is_resource_id(name)


@pytest.mark.parametrize("name", ["m", "all-MiniLM-L6-v2", "clip_b.16"])
def test_model_ids(name):
    assert is_model_id(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a..b", ".hidden", "a b", "m\n"])
def test_what_is_no_model_id(name):
    assert not is_model_id(name)


def test_the_order_is_that_of_code_points_not_of_any_language():
    ids = ["b", "é", "a10", "a9", "A", "z", "😀", "\uffff"]
    rank = code_point_rank(ids)
    assert [ids[i] for i in rank.argsort()] == ["A", "a10", "a9", "b", "z", "é", "\uffff", "😀"]


def test_the_rank_belongs_to_the_id_wherever_it_stands():
    ids = ["c", "a", "b"]
    assert code_point_rank(ids).tolist() == [2, 0, 1]
    assert code_point_rank(ids[::-1]).tolist() == [1, 0, 2]
