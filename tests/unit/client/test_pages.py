"""Listings over pages."""

from lbclient.pages import Pager

PAGES = {"": ([1, 2], "a"), "a": ([], "b"), "b": ([3], "")}


def fetcher(asked):
    async def fetch(token):
        asked.append(token)
        return PAGES[token]

    return fetch


async def test_items_come_in_order_across_pages_and_an_empty_page_is_not_the_end():
    asked = []
    assert [item async for item in Pager(fetcher(asked))] == [1, 2, 3]
    assert asked == ["", "a", "b"]


async def test_pages_are_fetched_only_when_needed():
    asked = []
    async for _ in Pager(fetcher(asked)):
        break
    assert asked == [""]


async def test_pages_can_be_had_as_such():
    assert [list(page) async for page in Pager(fetcher([])).pages()] == [[1, 2], [], [3]]
