"""The server's family of processes, read from /proc."""

import contextlib
import ctypes
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
STUB_NAME = b"triton_python_backend_stub"
ZOMBIE = "Z"


@dataclass(frozen=True)
class ProcessState:
    """What /proc/PID/stat tells."""

    pid: int
    state: str
    parent: int
    started: int
    """Clock ticks after boot: with the pid it names a process for good."""


def adopt_orphans() -> None:
    """Makes this process the parent of its descendants' orphans, so that it can reap them."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def parse_stat(text: str) -> ProcessState:
    """The line of /proc/PID/stat; the name in parentheses may hold anything."""
    pid, rest = text.split(" (", 1)
    columns = rest.rsplit(") ", 1)[1].split()
    return ProcessState(int(pid), columns[0], int(columns[1]), int(columns[19]))


def process_state(pid: int) -> ProcessState | None:
    """State of a process; None when there is none."""
    try:
        return parse_stat(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace"))
    except (OSError, IndexError, ValueError):
        return None


def children(pid: int) -> list[ProcessState]:
    """Direct children, zombies included."""
    everyone = (process_state(int(entry.name)) for entry in Path("/proc").glob("[0-9]*"))
    return [process for process in everyone if process and process.parent == pid]


def stub_model(command_line: bytes) -> str | None:
    """Name of the model that a stub runs, from its /proc/PID/cmdline; None for other programs.

    The first argument is <repository>/<model>/<version>/model.onnx.
    """
    arguments = command_line.split(b"\0")
    if len(arguments) < 2 or not arguments[0].endswith(STUB_NAME):
        return None
    parts = Path(os.fsdecode(arguments[1])).parts
    return parts[-3] if len(parts) >= 3 else None


class StubWatch:
    """Notices stubs that died under a server, which Triton never replaces.

    A dead stub stays a zombie of the server, and its command line is gone, so
    the model of each living stub is remembered.
    """

    def __init__(self, server_pid: int) -> None:
        self._server_pid = server_pid
        self._models: dict[int, str] = {}
        self._seen_dead: set[int] = set()

    def dead_models(self) -> set[str]:
        """Models whose stub was dead in this call and in the one before.

        Twice, because a stub that ends as it should is a zombie for an instant.
        """
        family = children(self._server_pid)
        dead = {process.pid for process in family if process.state == ZOMBIE}
        for process in family:
            if process.pid not in dead:
                self._remember(process.pid)
        lasting, self._seen_dead = dead & self._seen_dead, dead
        return {self._models[pid] for pid in lasting if pid in self._models}

    def _remember(self, pid: int) -> None:
        try:
            model = stub_model(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            return
        if model:
            self._models[pid] = model


def end_group(group: int, timeout: float = 3.0) -> None:
    """Kills what is left of a process group and reaps those that are ours."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-group, os.WNOHANG)[0]:
                pass
        time.sleep(0.02)
