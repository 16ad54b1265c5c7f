"""Packed digests say the same as their usual form, and find what is equal."""

import pytest

from lookbench_core.digests import content_digest
from lookbench_evaluator.benchmarks.content_digests import ContentDigests, groups_of_equals

DIGESTS = [content_digest(bytes([n])) for n in range(5)]


def test_they_read_as_they_were_given():
    packed = ContentDigests.of(DIGESTS)
    assert list(packed) == DIGESTS
    assert packed[1:4] == DIGESTS[1:4]
    assert packed[4] == DIGESTS[4]
    assert len(packed) == 5
    with pytest.raises(IndexError):
        packed[5]


def test_none_are_none():
    assert list(ContentDigests.of([])) == []
    assert groups_of_equals(ContentDigests.of([]).raw) == []


def test_equal_ones_are_grouped_in_the_order_of_the_rows():
    a, b, c, *_ = DIGESTS
    groups = groups_of_equals(ContentDigests.of([b, a, b, c, a, b]).raw)
    assert sorted(rows.tolist() for rows in groups) == [[0, 2, 5], [1, 4]]


def test_digests_that_end_in_zeros_differ():
    zeros = "sha256:" + "ab" + "00" * 31
    other = "sha256:" + "ab" + "00" * 30 + "01"
    assert groups_of_equals(ContentDigests.of([zeros, other]).raw) == []
    assert len(groups_of_equals(ContentDigests.of([zeros, other, zeros]).raw)) == 1
