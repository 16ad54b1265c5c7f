"""Ctrl-C: heard once; another does not disturb the end of the program."""

import signal

import pytest

from lbclient import interruption
from lbclient.interruption import (
    Interrupted,
    hear_one_interrupt,
    interruptible,
    uninterrupted,
)


@pytest.fixture(autouse=True)
def handler():
    """What Ctrl-C did before; the tests change it."""
    before = signal.getsignal(signal.SIGINT)
    yield before
    signal.signal(signal.SIGINT, before)


def test_inner_message_of_an_interruption_wins():
    with pytest.raises(Interrupted, match="inner"), interruptible("outer"), interruptible("inner"):
        raise KeyboardInterrupt


def test_after_the_first_no_other_is_heard():
    hear_one_interrupt()
    with pytest.raises(Interrupted, match="told"), interruptible("told"):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)


def test_after_a_while_another_ends_the_program_at_once(monkeypatch):
    """Python's own handler stands for the system's, which would end the tests."""
    monkeypatch.setattr(interruption, "PATIENCE_S", -1.0)
    monkeypatch.setattr(interruption.signal, "SIG_DFL", signal.default_int_handler)
    hear_one_interrupt()
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_what_must_be_done_is_not_cut_short(handler):
    with uninterrupted():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is handler
