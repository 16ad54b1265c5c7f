"""The head of a listing."""

from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def take(listing: Iterator[T], limit: int) -> tuple[list[T], bool]:
    """The first `limit` items (all when 0), and whether there are more."""
    if not limit:
        return list(listing), False
    head = list(islice(listing, limit + 1))
    return head[:limit], len(head) > limit
