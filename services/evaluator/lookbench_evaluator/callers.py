"""Who asks, so that callers can take turns. Told by the caller, not proven."""

from typing import Any

CALLER_KEY = "lookbench-caller"
LONGEST = 64


def caller_of(context: Any) -> str:
    """The name that the call's metadata gives, or else the host that it comes from."""
    for key, value in context.invocation_metadata() or ():
        if key == CALLER_KEY and value:
            return str(value)[:LONGEST]
    peer = str(context.peer())  # ipv4:127.0.0.1:54321, ipv6:[::1]:54321, unix:
    return peer.rpartition(":")[0] if peer.startswith("ip") else peer
