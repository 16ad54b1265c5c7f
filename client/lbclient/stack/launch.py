"""Starting and stopping the local stack."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from lbclient.errors import StackError
from lbclient.home import SYSTEM_DATA, Home, exported_models
from lbclient.interruption import uninterrupted
from lbclient.stack.health import ServedModel, health, served_models
from lbclient.stack.ports import HOST, Ports, require_free
from lbclient.stack.processes import Child, Process, is_alive, spawn, stop, tail
from lbclient.stack.record import EVALUATOR, TRITON, Stack, remove_stack, write_stack

_POLL = 0.2

T = TypeVar("T")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """A stack to start. `python` runs the servers' packages as modules."""

    home: Home
    repository: Path
    ports: Ports = field(default_factory=Ports)
    extra_data_roots: tuple[Path, ...] = ()
    any_ports: bool = False
    python: str = sys.executable

    @property
    def data_roots(self) -> tuple[Path, ...]:
        """The home's data, the system's data sets when there are any, what was asked for."""
        system = (SYSTEM_DATA,) if SYSTEM_DATA.is_dir() else ()
        return (self.home.data, *system, *self.extra_data_roots)

    def triton_command(self) -> list[str]:
        """Command line of the embedded Triton."""
        return [
            *(self.python, "-m", "lookbench_triton", "serve"),
            *("--repository", str(self.repository), "--load", "all", "--host", HOST),
            *("--http-port", str(self.ports.triton_http)),
            *("--grpc-port", str(self.ports.triton_grpc)),
            *("--metrics-port", str(self.ports.triton_metrics)),
            *("--log-file", str(self.home.logs / "tritonserver.log")),
        ]

    def evaluator_command(self) -> list[str]:
        """Command line of the evaluator; its settings are in the environment."""
        return [self.python, "-m", "lookbench_evaluator"]

    def environment(self, base: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Environment of both processes."""
        roots = os.pathsep.join(str(root) for root in self.data_roots)
        return {
            **base,
            "LOOKBENCH_HOME": str(self.home.root),
            "LOOKBENCH_EVALUATOR_HOST": HOST,
            "LOOKBENCH_EVALUATOR_PORT": str(self.ports.evaluator),
            "LOOKBENCH_EVALUATOR_TRITON_URL": f"{HOST}:{self.ports.triton_grpc}",
            "LOOKBENCH_EVALUATOR_MODEL_REPOSITORY": str(self.repository),
            "LOOKBENCH_EVALUATOR_DATA_ROOTS": roots,
            "LOOKBENCH_EVALUATOR_STORE_DIR": str(self.home.evaluator),
            "LOOKBENCH_EVALUATOR_LOG_STYLE": "text",
        }


@dataclass(frozen=True)
class Started:
    """A stack that answers, and the models that it does not serve."""

    stack: Stack
    failed_models: tuple[ServedModel, ...]


def start(plan: Plan, *, timeout: float, say: Say) -> Started:
    """Starts Triton and the evaluator and waits until both answer.

    timeout: seconds for all of it. When anything fails, or the caller is
    interrupted, whatever was started is stopped again and no record is left.
    Raises StackError with the end of the log of what died.
    """
    require_startable(plan)
    _make_folders(plan.home)
    children: list[Child] = []
    try:
        for name, command in (
            (TRITON, plan.triton_command()),
            (EVALUATOR, plan.evaluator_command()),
        ):
            log = plan.home.logs / f"{name}.log"
            children.append(spawn(name, command, plan.environment(), log))
            write_stack(plan.home, _stack(plan, children))
        failed = _wait_until_ready(plan, children, time.monotonic() + timeout, say)
    except BaseException:
        with uninterrupted():
            for child in reversed(children):
                stop(child.process, grace=10.0)
                child.exit_status()
            remove_stack(plan.home)
        raise
    for child in children:
        child.release()
    return Started(_stack(plan, children), failed)


def _make_folders(home: Home) -> None:
    for folder in (home.logs, home.data, home.evaluator):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StackError(
                f"cannot make the folder {folder}: {error.strerror}; move away what is there, "
                "or choose another folder with LOOKBENCH_HOME",
                metadata={"path": str(folder)},
            ) from error


def stop_stack(stack: Stack, *, grace: float, say: Say) -> None:
    """Stops the evaluator, then Triton; the record stays.

    grace: seconds that each may take before it is killed.
    """
    for process in sorted(stack.processes, key=lambda process: process.name != EVALUATOR):
        began, ran = time.monotonic(), is_alive(process)
        went = stop(process, grace)
        if not ran:
            say(f"{process.name} had ended already")
        elif went:
            say(f"{process.name} stopped")
        else:
            say(f"{process.name} did not stop within {time.monotonic() - began:.0f} s; killed")


def require_startable(plan: Plan) -> None:
    """Raises StackError for what keeps the plan from starting, before anything is started."""
    if not sys.platform.startswith("linux"):
        raise StackError("the local stack runs on Linux only; elsewhere use `docker compose up -d`")
    if not exported_models(plan.repository):
        raise StackError(
            f"there is no model in {plan.repository}; export one first: "
            f"`lookbench-export efficientnet-lite0 --repository {plan.repository}`",
            metadata={"repository": str(plan.repository)},
        )
    for root in plan.extra_data_roots:
        if not root.is_dir():
            raise StackError(f"--data-root {root} is not a folder", metadata={"path": str(root)})
    require_free(plan.ports)


def _stack(plan: Plan, children: list[Child]) -> Stack:
    return Stack(
        ports=plan.ports,
        processes=tuple(child.process for child in children),
        repository=str(plan.repository),
        data_roots=tuple(str(root) for root in plan.data_roots),
        any_ports=plan.any_ports,
    )


def _wait_until_ready(
    plan: Plan, children: list[Child], end: float, say: Say
) -> tuple[ServedModel, ...]:
    began = time.monotonic()
    models = _wait(children, end, "Triton", lambda: _loaded_models(plan))
    ready = [model.name for model in models if model.ready]
    if not ready:
        problems = "; ".join(f"{model.name}: {model.reason}" for model in models)
        raise StackError(f"Triton could load no model: {problems}")
    say(f"Triton serves {', '.join(ready)} ({time.monotonic() - began:.1f} s)")
    _wait(children, end, "the evaluator", lambda: _serving(plan, ""))
    failed = tuple(model for model in models if not model.ready)
    if not failed:  # With a model missing, that health name rightly stays down.
        connection = "the evaluator's connection to Triton"
        _wait(children, end, connection, lambda: _serving(plan, "triton"))
    say(f"evaluator answers ({time.monotonic() - began:.1f} s)")
    return failed


def _loaded_models(plan: Plan) -> list[ServedModel] | None:
    """All exported models once each is ready or has failed; None before."""
    wanted = set(exported_models(plan.repository))
    models = [m for m in served_models(plan.ports.triton_url) or [] if m.name in wanted]
    settled = {model.name for model in models if model.ready or model.reason}
    return models if settled == wanted else None


def _serving(plan: Plan, service: str) -> bool | None:
    return health(plan.ports.evaluator_target, service) == "SERVING" or None


def _wait(children: list[Child], end: float, what: str, probe: Callable[[], T | None]) -> T:
    """The probe's answer as soon as it has one; fails at once when a process dies."""
    while True:
        _require_alive(children)
        if (found := probe()) is not None:
            return found
        if time.monotonic() > end:
            raise StackError(
                f"{what} did not become ready in time; --timeout gives it longer\n"
                + "\n".join(_log_end(child.process) for child in children)
            )
        time.sleep(_POLL)


def _require_alive(children: list[Child]) -> None:
    for child in children:
        status = child.exit_status()
        if status is not None:
            how = f"signal {-status}" if status < 0 else f"exit code {status}"
            raise StackError(
                f"{child.process.name} ended during start ({how})\n{_log_end(child.process)}",
                metadata={"process": child.process.name, "exit_status": str(status)},
            )


def _log_end(process: Process) -> str:
    return f"  end of {process.log}:\n{tail(Path(process.log)) or '    (empty)'}"
