"""What a fork does to open gRPC channels, and how a child is kept from harm.

The threads that carry an open asyncio channel do not exist in a child, and what they
wait for is shared with it: with grpcio 1.81 a call in the child hangs for ever, by the
inherited channel and by a new one alike, and a child that drops its copy stops the
parent's. So the child keeps its copies untouched, and refuses to call.
"""

import os
from weakref import WeakSet


class OpenChannels:
    """The open channels of this process, and whether it is a child that inherited some."""

    def __init__(self) -> None:
        self._open: WeakSet[object] = WeakSet()
        self._kept: list[object] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.keep)

    @property
    def inherited(self) -> bool:
        """Whether a channel was open when this process was forked: no call works in it."""
        return bool(self._kept)

    def opened(self, channel: object) -> None:
        """Remembers a channel for as long as it lives, which is longer than it is open."""
        self._open.add(channel)

    def keep(self) -> None:
        """Makes the copies of a child live as long as the child."""
        self._kept.extend(self._open)
