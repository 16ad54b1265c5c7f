from lookbench_core.forks import OpenChannels


class Channel:
    """Anything that can be referred to weakly."""


def test_a_child_of_a_process_with_an_open_channel_has_inherited_it():
    channels, channel = OpenChannels(), Channel()
    channels.opened(channel)
    assert not channels.inherited
    channels.keep()  # what happens in a child
    assert channels.inherited


def test_channels_that_are_gone_are_not_inherited():
    channels = OpenChannels()
    channels.opened(Channel())
    channels.keep()
    assert not channels.inherited
