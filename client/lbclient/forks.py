"""What a fork does to gRPC, and how a child is kept from harm.

The threads that carry an open asyncio channel do not exist in a child, and what they
wait for is shared with it. Measured with grpcio 1.81: a call in the child hangs for ever
or aborts the process, whether by the inherited client or by a new one, and a child that
closes or drops its copy of the channel stops the parent's. So a child may use no client
and keeps its copies untouched. Clients that were closed before the fork, or not used
yet, do no harm.
"""

import os
from weakref import WeakSet

import grpc

from lbclient.errors import Forked


class Forks:
    """The open channels of this process, and whether it is a child that inherited some."""

    def __init__(self) -> None:
        self._open: WeakSet[grpc.aio.Channel] = WeakSet()
        self._inherited: list[grpc.aio.Channel] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._keep)

    @property
    def inherited(self) -> bool:
        """Whether a channel was open when this process was forked."""
        return bool(self._inherited)

    def opened(self, channel: grpc.aio.Channel) -> None:
        """Remembers a channel for as long as it lives."""
        self._open.add(channel)

    def check(self) -> None:
        """Raises Forked where a call could only hang."""
        if self.inherited:
            raise Forked(
                "this process was forked while a client was open, and gRPC does not work in it; "
                "close clients before forking and open others in the child, or start workers "
                'with multiprocessing.get_context("spawn")'
            )

    def _keep(self) -> None:
        self._inherited.extend(self._open)


FORKS = Forks()
