"""The record of the local stack, `stack.json` in LOOKBENCH_HOME."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lbclient.errors import StackError
from lbclient.home import Home
from lbclient.stack.ports import Ports
from lbclient.stack.processes import Process, is_alive

_VERSION = 1
TRITON = "triton"
EVALUATOR = "evaluator"


@dataclass(frozen=True)
class Stack:
    """What `lbclient up` started and where it listens.

    any_ports: whether it was started with --free-ports.
    """

    ports: Ports
    processes: tuple[Process, ...]
    repository: str
    data_roots: tuple[str, ...]
    any_ports: bool = False

    def alive(self) -> tuple[Process, ...]:
        """The processes that still run."""
        return tuple(process for process in self.processes if is_alive(process))

    def is_whole(self) -> bool:
        """Whether both processes run; a start that was killed may have recorded only one."""
        return {TRITON, EVALUATOR} <= {process.name for process in self.alive()}


def read_stack(home: Home) -> Stack | None:
    """The recorded stack, whether or not it still runs; None when there is no record.

    Raises StackError naming the file when it is not a record of ours.
    """
    try:
        data = json.loads(home.stack_file.read_bytes())
        return _parse(data)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StackError(f"cannot read {home.stack_file}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise StackError(
            f"{home.stack_file} is not a record of a local stack ({error}); "
            "delete it once no lookbench process runs"
        ) from error


def _parse(data: dict[str, Any]) -> Stack:
    if data["version"] != _VERSION:
        raise ValueError(f"version {data['version']}, expected {_VERSION}")
    return Stack(
        ports=Ports(**data["ports"]),
        processes=tuple(Process(**process) for process in data["processes"]),
        repository=data["repository"],
        data_roots=tuple(data["data_roots"]),
        any_ports=bool(data.get("any_ports", False)),
    )


def write_stack(home: Home, stack: Stack) -> None:
    """Replaces the record in one step."""
    text = json.dumps({"version": _VERSION, **asdict(stack)}, indent=2) + "\n"
    draft = home.stack_file.with_name(home.stack_file.name + ".new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(home.stack_file)


def remove_stack(home: Home) -> None:
    """Forgets the recorded stack."""
    home.stack_file.unlink(missing_ok=True)


@contextmanager
def locked(home: Home) -> Iterator[None]:
    """Keeps two commands from starting or stopping the same stack at once.

    The lock goes with the process, so a killed command leaves none behind.
    """
    path: Path = home.root / "stack.lock"
    try:
        home.root.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError as error:
        raise StackError(
            f"cannot write to {home.root}: {error.strerror}; "
            "choose another folder with LOOKBENCH_HOME"
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StackError(
                f"another lbclient is starting or stopping the stack of {home.root}; wait for it"
            ) from error
        yield
