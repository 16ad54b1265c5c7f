"""The next step after an error at the command line."""

import sys

from lbclient.channel import DEFAULT_TARGET
from lbclient.errors import (
    LookbenchClientError,
    NotReachable,
    RunCancelled,
    RunFailed,
    StackError,
)
from lbclient.home import Home
from lbclient.names import short
from lbclient.stack.record import Stack, read_stack

HOW_TO_START = """\
Start one on this machine with `lbclient up` or, where the compose file is deployed,
`docker compose up -d`; --server HOST:PORT names one that runs elsewhere."""

EARLIER = "ended_before"
"""Metadata of a run's error: the run had ended before the command asked for it."""

# Failures of the surroundings, not of what was asked: the same run may succeed later.
_PASSING = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED"})


def next_step(error: LookbenchClientError, home: Home) -> str:
    """What to do about `error`; empty when its message says all there is."""
    if isinstance(error, NotReachable):
        return _how_to_reach(error.metadata.get("target", ""), home)
    if isinstance(error, RunCancelled | RunFailed):
        return _how_to_go_on(error)
    if error.reason == "RUN_ALREADY_EXISTS":
        name = short(error.metadata.get("name", ""))
        return f"`lbclient runs show {name}` shows the one that is there; it was asked otherwise."
    return ""


def _how_to_go_on(error: RunCancelled | RunFailed) -> str:
    name = short(error.metadata["run"])
    resume = f"`lbclient runs resume {name}` goes on with it, from what it has embedded"
    if error.metadata.get(EARLIER):
        return f"That was before this command. {resume}; another --run-id makes a new run."
    passing = error.retryable or error.code in _PASSING
    return f"{resume}." if passing or isinstance(error, RunCancelled) else ""


def recorded_stack(home: Home) -> Stack | None:
    """The recorded stack; None also for a record that cannot be read, or off Linux."""
    try:
        return read_stack(home) if sys.platform.startswith("linux") else None
    except StackError:
        return None


def _how_to_reach(target: str, home: Home) -> str:
    stack = recorded_stack(home)
    if stack is not None and stack.ports.evaluator_target == target:
        return _how_to_restart(stack, home)
    if stack is None and target == DEFAULT_TARGET:
        where = f"No stack is recorded in {home.root}; LOOKBENCH_HOME names another folder.\n"
        return where + HOW_TO_START
    return HOW_TO_START


def _how_to_restart(stack: Stack, home: Home) -> str:
    where = f"The local stack of {home.root}"
    if stack.is_whole():
        return f"{where} runs, but does not answer; `lbclient status` looks, logs: {home.logs}"
    return f"{where} has ended in part or whole; `lbclient up` starts it anew, logs: {home.logs}"
