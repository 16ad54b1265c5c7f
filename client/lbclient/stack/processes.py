"""Processes that outlive the command: started, recognised, stopped. Linux only (/proc)."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lbclient.errors import StackError

_PROC = Path("/proc")
_POLL = 0.05


@dataclass(frozen=True)
class Process:
    """One process of the stack.

    start_time: clock ticks after the machine's start, from /proc; with the pid
    it tells this process from a later one that got the same number.
    """

    name: str
    pid: int
    start_time: int
    log: str


@dataclass(frozen=True)
class _Stat:
    state: str
    session: int
    start_time: int


def _read_stat(pid: int) -> _Stat | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the name in parentheses and may itself hold spaces and ")".
    values = text.rpartition(")")[2].split()
    return _Stat(state=values[0], session=int(values[3]), start_time=int(values[19]))


def start_time(pid: int) -> int | None:
    """Clock ticks after the machine's start; None when there is no such process."""
    stat = _read_stat(pid)
    return None if stat is None else stat.start_time


def is_alive(process: Process) -> bool:
    """Whether exactly this process still runs; a zombie does not."""
    stat = _read_stat(process.pid)
    return (
        stat is not None and stat.start_time == process.start_time and stat.state not in ("Z", "X")
    )


def _members(process: Process) -> list[int]:
    """Living processes of the session that `process` opened, itself included."""
    stat = _read_stat(process.pid)
    if stat is not None and stat.start_time != process.start_time:
        return []  # The number belongs to someone else, so that session is gone.
    pids = [int(path.name) for path in _PROC.iterdir() if path.name.isdigit()]
    stats = [(pid, _read_stat(pid)) for pid in pids]
    return [pid for pid, s in stats if s and s.session == process.pid and s.state not in "ZX"]


@dataclass
class Child:
    """A process that this command has just started."""

    process: Process
    popen: subprocess.Popen[bytes]

    def exit_status(self) -> int | None:
        """Exit status, negative for a signal; None while it runs."""
        return self.popen.poll()

    def release(self) -> None:
        """Leaves the process alone: it is meant to live on after this command."""
        if self.popen.returncode is None:
            self.popen.returncode = 0


def spawn(name: str, command: Sequence[str], environment: Mapping[str, str], log: Path) -> Child:
    """Starts `command` in a session of its own with all output going to `log`.

    The log of the start before is kept beside it with `.1` appended.
    """
    if log.exists():
        log.replace(log.with_name(log.name + ".1"))
    with log.open("wb") as output:
        try:
            popen = subprocess.Popen(  # noqa: S603 - our own command line
                command,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise StackError(f"{name}: cannot start {command[0]}: {error.strerror}") from error
    began = start_time(popen.pid)
    return Child(Process(name, popen.pid, began or 0, str(log)), popen)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def stop(process: Process, grace: float) -> bool:
    """Ends `process` and all of its session; whether it went by itself within `grace` seconds.

    SIGTERM goes to the process alone, which stops what it started in order;
    what is left of the session afterwards is killed.
    """
    if is_alive(process):
        _signal(process.pid, signal.SIGTERM)
    went = _gone_within(process, grace)
    for pid in _members(process):
        _signal(pid, signal.SIGKILL)
    _gone_within(process, 5.0)
    return went


def _gone_within(process: Process, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while is_alive(process):
        if time.monotonic() >= end:
            return False
        time.sleep(_POLL)
    return True


def tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log, indented; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 64_000))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join("    " + line for line in text.splitlines()[-lines:])
