"""`lbclient up`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lbclient import extras
from lbclient.errors import StackError
from lbclient.home import model_repository
from lbclient.interruption import interruptible
from lbclient.options import Command, json_option
from lbclient.output import print_json, say
from lbclient.session import Session, pass_session
from lbclient.stack.launch import Plan, Started, require_startable, start, stop_stack
from lbclient.stack.ports import FLAGS, Ports, free_ports
from lbclient.stack.record import Stack, locked, read_stack

_DEFAULTS = Ports()


def _port_option(name: str, what: str) -> Callable[[Command], Command]:
    default = getattr(_DEFAULTS, name)
    return click.option(
        FLAGS[name],
        name,
        type=click.IntRange(1, 65535),
        default=default,
        show_default=True,
        help=f"Port of {what}.",
    )


@click.command()
@click.option(
    "--repository",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Model repository. Default: LOOKBENCH_MODEL_REPOSITORY, else models in LOOKBENCH_HOME.",
)
@click.option(
    "--data-root",
    "data_roots",
    type=click.Path(file_okay=False, path_type=Path),
    multiple=True,
    metavar="DIR",
    help="Folder that imports may read; may be repeated.",
)
@_port_option("evaluator", "the evaluator")
@_port_option("triton_http", "Triton's HTTP")
@_port_option("triton_grpc", "Triton's gRPC")
@_port_option("triton_metrics", "Triton's metrics")
@click.option("--free-ports", "any_ports", is_flag=True, help="Replace taken ports by free ones.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=180.0,
    show_default=True,
    help="Seconds until everything must answer.",
)
@json_option
@pass_session
def up(
    session: Session,
    /,
    *,
    repository: Path | None,
    data_roots: tuple[Path, ...],
    any_ports: bool,
    timeout: float,
    as_json: bool,
    **numbers: int,
) -> None:
    """Start Triton and the evaluator here.

    Waits until both answer. They go on after this command; `lbclient down`
    stops them. Logs, pids and results stand in LOOKBENCH_HOME. Does nothing
    when they run already.

    \b
    Examples:
      lbclient up
      lbclient up --free-ports --data-root ~/datasets
      LOOKBENCH_HOME=/var/tmp/lookbench lbclient up
    """  # noqa: D301 - click's mark
    _require_packages()
    home = session.home
    tell = (lambda text: None) if as_json else say
    with locked(home):
        running = read_stack(home)
        if running is not None:
            if running.is_whole():
                _tell_running(running, session, as_json=as_json)
                return
            tell("the recorded stack is incomplete; stopping what is left of it")
            stop_stack(home, running, grace=30.0, say=tell)
        ports = Ports(**numbers)
        plan = Plan(
            home=home,
            repository=(repository or model_repository(home)).absolute(),
            ports=free_ports(ports) if any_ports else ports,
            extra_data_roots=tuple(root.absolute() for root in data_roots),
        )
        require_startable(plan)
        tell(f"starting Triton and the evaluator; logs in {home.logs}")
        with interruptible("What had been started is stopped again."):
            started = start(plan, timeout=timeout, say=tell)
    _tell_started(started, as_json=as_json)


def _require_packages() -> None:
    needed = ("evaluator", "triton")
    lacking = sorted({name for extra in needed for name in extras.missing(extra)})
    if lacking:
        raise StackError(
            f"the local stack needs packages that are not installed ({', '.join(lacking)}); "
            f"in a clone of the repository run: {extras.install_command(*needed)}"
        )


def _tell_running(stack: Stack, session: Session, *, as_json: bool) -> None:
    if as_json:
        print_json(stack_dict(stack))
    else:
        say(f"already up: {stack.ports.evaluator_target}, in {session.home.root}")


def _tell_started(started: Started, *, as_json: bool) -> None:
    stack = started.stack
    if as_json:
        print_json(stack_dict(stack))
        return
    for model in started.failed_models:
        say(f"warning: Triton could not load {model.name}: {model.reason}")
    say(
        f"up: evaluator {stack.ports.evaluator_target}, Triton {stack.ports.triton_url}\n"
        "`lbclient evaluate` evaluates, `lbclient status` looks, `lbclient down` stops"
    )


def stack_dict(stack: Stack) -> dict[str, Any]:
    """Addresses and pids of a stack for JSON."""
    return {
        "evaluator": stack.ports.evaluator_target,
        "triton_http": stack.ports.triton_http,
        "triton_grpc": stack.ports.triton_grpc,
        "triton_metrics": stack.ports.triton_metrics,
        "repository": stack.repository,
        "data_roots": list(stack.data_roots),
        "pids": {process.name: process.pid for process in stack.processes},
    }
