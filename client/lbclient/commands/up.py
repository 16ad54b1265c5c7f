"""`lbclient up`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lbclient import extras
from lbclient.errors import StackError
from lbclient.home import Home, named_repository
from lbclient.interruption import interruptible
from lbclient.options import Command, json_option
from lbclient.output import print_json, say
from lbclient.session import Session, pass_session
from lbclient.stack.launch import Say, Started, require_startable, start, stop_stack
from lbclient.stack.ports import FLAGS, Ports
from lbclient.stack.record import Stack, locked, read_stack
from lbclient.stack.request import UpRequest

_DEFAULTS = Ports()


def _port_option(name: str, what: str) -> Callable[[Command], Command]:
    default = getattr(_DEFAULTS, name)
    return click.option(
        FLAGS[name],
        name,
        type=click.IntRange(1, 65535),
        help=f"Port of {what}. Default: {default}.",
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
    type=click.Path(exists=True, file_okay=False, path_type=Path),
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
    **numbers: int | None,
) -> None:
    """Start Triton and the evaluator here.

    Waits until both answer. They go on after this command; `lbclient down`
    stops them. Logs, pids and results stand in LOOKBENCH_HOME. Does nothing
    when they run already as asked, and refuses when they run otherwise. When
    one of them died, both are started anew with the ports, the repository and
    the data roots that they had.

    \b
    Examples:
      lbclient up
      lbclient up --free-ports --data-root ~/datasets
      LOOKBENCH_HOME=/var/tmp/lookbench lbclient up
    """  # noqa: D301 - click's mark
    _require_packages()
    asked = UpRequest(
        repository=repository.absolute() if repository else named_repository(),
        data_roots=tuple(root.absolute() for root in data_roots),
        ports={name: number for name, number in numbers.items() if number is not None},
        any_ports=any_ports,
    )
    tell = (lambda text: None) if as_json else say
    with locked(session.home):
        recorded = read_stack(session.home)
        if recorded is not None and recorded.is_whole():
            asked.require_met(session.home, recorded)
            _tell_running(recorded, session, as_json=as_json)
            return
        started = _start(session.home, asked, recorded, timeout, tell)
    _tell_started(started, as_json=as_json)


def _start(
    home: Home, asked: UpRequest, recorded: Stack | None, timeout: float, tell: Say
) -> Started:
    if recorded is not None:
        tell("the recorded stack is incomplete; stopping what is left of it")
        stop_stack(recorded, grace=30.0, say=tell)
    plan = asked.plan(home, recorded)
    require_startable(plan)
    tell(f"starting Triton and the evaluator; logs in {home.logs}")
    with interruptible("What had been started is stopped again."):
        return start(plan, timeout=timeout, say=tell)


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
