"""Client and evaluator agree on how often a quiet connection may be pinged."""

from lbclient.channel import channel_options
from lookbench_evaluator.server import OPTIONS

DEFAULT_MINIMUM_MS = 300_000
"""What gRPC's servers allow unless told otherwise: lbclient may stand before a proxy."""


def test_the_client_pings_no_more_often_than_the_evaluator_allows():
    """Fault A21: more pings than that end the connection with "too many pings"."""
    allowed, asked = dict(OPTIONS), dict(channel_options("evaluator:8090", 1 << 20))
    minimum = allowed["grpc.http2.min_ping_interval_without_data_ms"]
    assert asked["grpc.keepalive_time_ms"] >= max(minimum, DEFAULT_MINIMUM_MS)
    assert allowed["grpc.keepalive_permit_without_calls"] == 1
