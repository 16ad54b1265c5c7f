"""Who asks: what the metadata says, else the host."""

import pytest

from lookbench_evaluator.callers import caller_of


class Context:
    def __init__(self, peer, metadata=()):
        self._peer, self._metadata = peer, metadata

    def peer(self):
        return self._peer

    def invocation_metadata(self):
        return self._metadata


@pytest.mark.parametrize(
    ("peer", "caller"),
    [
        ("ipv4:127.0.0.1:54321", "ipv4:127.0.0.1"),
        ("ipv6:[::1]:54321", "ipv6:[::1]"),
        ("unix:", "unix:"),
    ],
)
def test_the_host_without_its_port(peer, caller):
    assert caller_of(Context(peer)) == caller
    assert caller_of(Context(peer, None)) == caller


def test_the_name_that_was_told_cut_to_a_length():
    metadata = (("other", "x"), ("lookbench-caller", "ann@laptop"))
    assert caller_of(Context("ipv4:127.0.0.1:1", metadata)) == "ann@laptop"
    assert len(caller_of(Context("unix:", (("lookbench-caller", "x" * 999),)))) == 64
