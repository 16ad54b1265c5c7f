"""Options of the channel, and when calls are repeated."""

import pytest

from lbclient.channel import KEEPALIVE_MS, RetryPolicy, channel_options, is_loopback


def test_delays_grow_and_are_bounded():
    policy = RetryPolicy(first_delay=0.25, factor=3.0, max_delay=2.0)
    assert [policy.delay(n) for n in (1, 2, 3)] == [0.25, 0.75, 2.0]


def test_delay_asked_by_the_server_is_kept_up_to_the_bound():
    policy = RetryPolicy(first_delay=0.25, max_delay=2.0)
    assert policy.delay(1, asked=1.5) == 1.5
    assert policy.delay(1, asked=60.0) == 2.0


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("127.0.0.1:8090", True),
        ("localhost:8090", True),
        ("[::1]:8090", True),
        ("unix:/run/x.sock", True),
        ("10.0.0.7:8090", False),
        ("evaluator.example.org:443", False),
    ],
)
def test_loopback_is_recognised(target, expected):
    assert is_loopback(target) is expected


def test_both_directions_take_large_messages():
    options = dict(channel_options("h:1", 64 << 20))
    assert options["grpc.max_receive_message_length"] == 64 << 20
    assert options["grpc.max_send_message_length"] == 64 << 20


def test_pings_are_rarer_than_a_default_server_allows():
    """A Python server without options accepts one ping in 300 s without data."""
    assert dict(channel_options("h:1", 1))["grpc.keepalive_time_ms"] == KEEPALIVE_MS > 300_000


def test_proxy_is_never_used_for_this_machine():
    assert dict(channel_options("127.0.0.1:1", 1))["grpc.enable_http_proxy"] == 0
    assert dict(channel_options("example.org:1", 1))["grpc.enable_http_proxy"] == 1
