"""Channels that a child inherits; tests/integration/client/test_forks.py forks."""

import pytest

from lbclient.errors import Forked
from lbclient.forks import Forks


class Channel:
    """Something that can be referred to weakly."""


def test_a_process_without_inherited_channels_may_call():
    forks = Forks()
    forks.opened(Channel())
    forks._keep()
    forks.check()
    assert not forks.inherited, "the channel was gone before the fork"


def test_a_child_of_an_open_channel_may_not_and_keeps_it():
    forks, channel = Forks(), Channel()
    forks.opened(channel)
    forks.check()
    forks._keep()
    with pytest.raises(Forked, match="close clients before forking"):
        forks.check()
    assert forks._inherited == [channel]
