"""Requests are cut by count and bytes; a bounded number is under way; failures end all."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookbench_inference.batching import run_bounded, split, split_by_length

MIB = 1 << 20


def sizes(*arguments):
    return [part.stop - part.start for part in split(*arguments)]


def test_seven_float_images_do_not_share_a_message_of_4_mib():
    """3 x 224 x 224 float32 = 602,112 bytes: six fit into 4 MiB, seven do not (fault A20)."""
    assert sizes(7, 3 * 224 * 224 * 4, 32, 4 * MIB) == [6, 1]


def test_only_two_images_of_384_pixels_fit():
    assert sizes(5, 3 * 384 * 384 * 4, 32, 4 * MIB) == [2, 2, 1]


def test_the_batch_size_of_the_model_is_never_exceeded():
    assert sizes(100, 10, 32, 4 * MIB) == [32, 32, 32, 4]


def test_an_item_above_the_limit_has_a_request_of_its_own():
    assert sizes(3, 8 * MIB, 32, 4 * MIB) == [1, 1, 1]


def test_nothing_makes_no_request():
    assert sizes(0, 10, 32, MIB) == []


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 8), st.integers(1, 1000))
def test_groups_by_length_hold_every_index_once_within_the_limits(lengths, items, tokens):
    groups = [group.tolist() for group in split_by_length(lengths, items, tokens)]
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) <= items
        assert len(group) == 1 or max(lengths[i] for i in group) * len(group) <= tokens


async def test_no_more_jobs_than_the_limit_are_under_way():
    under_way, most = 0, 0

    async def job():
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1

    await run_bounded([job] * 20, 4)
    assert most == 4
    assert under_way == 0


async def test_jobs_are_taken_only_when_they_start():
    taken = []

    def jobs():
        for number in range(10):
            taken.append(number)

            async def job(number=number):
                if number == 1:
                    raise RuntimeError("job 1")
                await asyncio.sleep(0)

            yield job

    with pytest.raises(RuntimeError, match="job 1"):
        await run_bounded(jobs(), 2)
    assert len(taken) < 10


async def test_the_first_failure_cancels_and_drains_the_others():
    ended = []

    async def endless():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("drained")

    async def failing():
        await asyncio.sleep(0)
        raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        await run_bounded([endless, endless, failing], 3)
    assert ended == ["drained", "drained"]
