"""What every command needs: the server to talk to and the home folder."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import click

from lbclient.advice import recorded_stack
from lbclient.channel import DEFAULT_TARGET
from lbclient.home import Home
from lbclient.stack.processes import Process, is_alive
from lbclient.stack.record import EVALUATOR, read_stack
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

    def local_evaluator_ended(self) -> Callable[[], bool]:
        """A function: whether the recorded evaluator that is meant now has ended since.

        It stays False for a server elsewhere, and while another is started in its place.
        """
        target = self.target()
        known = self._evaluators(target)

        def ended() -> bool:
            if not known or any(map(is_alive, known)):
                return False
            now = self._evaluators(target)
            return now is None or any(not is_alive(process) for process in now)

        return ended

    def _evaluators(self, target: str) -> list[Process] | None:
        """Recorded processes that serve `target`; empty while Triton starts; None: no stack."""
        stack = recorded_stack(self.home)
        if stack is None or stack.ports.evaluator_target != target:
            return None
        return [process for process in stack.processes if process.name == EVALUATOR]


pass_session = click.make_pass_decorator(Session)
