"""Listings that come in pages."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

Fetch = Callable[[str], Awaitable[tuple[Sequence[T], str]]]
"""Page token → items of that page and the next token; both tokens are empty at the ends."""


class Pager(Generic[T]):
    """Iterates over the items of a listing; pages are fetched as they are needed."""

    def __init__(self, fetch: Fetch[T]) -> None:
        self._fetch = fetch

    async def pages(self) -> AsyncIterator[Sequence[T]]:
        """One sequence of items a page; a page may be empty before the last."""
        token = ""
        while True:
            items, token = await self._fetch(token)
            yield items
            if not token:
                return

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page:
                yield item
