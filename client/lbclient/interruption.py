"""Ctrl-C with a message that says what goes on and what can be done."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import NoReturn

PATIENCE_S = 5.0
"""For so long after a Ctrl-C the program may tidy up; then another ends it at once."""


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


def hear_one_interrupt() -> None:
    """The first Ctrl-C is a KeyboardInterrupt; those that follow do not disturb its end."""
    signal.signal(signal.SIGINT, _first)


def _first(number: int, frame: FrameType | None) -> NoReturn:
    began = monotonic()

    def again(number: int, frame: FrameType | None) -> None:
        if monotonic() - began > PATIENCE_S:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, again)
    raise KeyboardInterrupt


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C does nothing inside the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
