"""Ctrl-C with a message that says what goes on and what can be done."""

from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(KeyboardInterrupt):
    """A Ctrl-C whose consequences are known; the text states them."""


@contextmanager
def interruptible(message: str) -> Iterator[None]:
    """A Ctrl-C inside the block becomes Interrupted with `message`."""
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt as error:
        raise Interrupted(message) from error
