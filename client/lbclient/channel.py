"""How the channel to the evaluator is opened."""

import ipaddress
from dataclasses import dataclass
from typing import Any

import grpc

from lbclient.forks import FORKS

DEFAULT_TARGET = "127.0.0.1:8090"
MAX_MESSAGE_BYTES = 64 * 1024 * 1024

# A Python server accepts one ping in 300 s on a quiet connection and answers
# more with "too many pings" and a closed connection.
KEEPALIVE_MS = 330_000
KEEPALIVE_TIMEOUT_MS = 20_000


@dataclass(frozen=True)
class RetryPolicy:
    """How often and when a call that may be repeated is repeated on UNAVAILABLE.

    attempts: calls in all. Delays are in seconds and grow by `factor`.
    """

    attempts: int = 3
    first_delay: float = 0.25
    factor: float = 3.0
    max_delay: float = 10.0

    def delay(self, attempt: int, asked: float | None = None) -> float:
        """Seconds to wait after failed call number `attempt` (1 = the first).

        `asked` is what the server asked for; it is kept up to `max_delay`.
        """
        grown = self.first_delay * self.factor ** (attempt - 1)
        return min(self.max_delay, max(grown, asked or 0.0))


def is_loopback(target: str) -> bool:
    """Whether `target` is an address of this machine."""
    host = target.rsplit(":", 1)[0].strip("[]")
    if host == "localhost" or target.startswith("unix:"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def channel_options(target: str, max_message_bytes: int) -> list[tuple[str, Any]]:
    """Options for a channel to `target`. Limits are in bytes, for both directions."""
    return [
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", max_message_bytes),
        ("grpc.keepalive_time_ms", KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
        # A restarted server is found again within a moment, not after seconds.
        ("grpc.initial_reconnect_backoff_ms", 200),
        ("grpc.min_reconnect_backoff_ms", 2_000),
        ("grpc.max_reconnect_backoff_ms", 3_000),
        # http_proxy in the environment must not swallow calls to this machine.
        ("grpc.enable_http_proxy", 0 if is_loopback(target) else 1),
    ]


def open_channel(target: str, max_message_bytes: int) -> grpc.aio.Channel:
    """A channel without encryption, bound to the running event loop. Raises Forked."""
    FORKS.check()
    options = channel_options(target, max_message_bytes)
    channel = grpc.aio.insecure_channel(target, options=options)
    FORKS.opened(channel)
    return channel
