"""What every command needs: the server to talk to and the home folder."""

import sys
from dataclasses import dataclass

import click

from lbclient.channel import DEFAULT_TARGET
from lbclient.home import Home
from lbclient.stack.record import read_stack
from lbclient.sync import SyncClient


@dataclass(frozen=True)
class Session:
    """server: what --server or LBCLIENT_SERVER named, if anything."""

    home: Home
    server: str | None = None

    def target(self) -> str:
        """Address of the evaluator: the one named, else the local stack's, else the default."""
        if self.server:
            return self.server
        stack = read_stack(self.home) if sys.platform.startswith("linux") else None
        return DEFAULT_TARGET if stack is None else stack.ports.evaluator_target

    def client(self) -> SyncClient:
        """A client for the evaluator."""
        return SyncClient(self.target())


pass_session = click.make_pass_decorator(Session)
