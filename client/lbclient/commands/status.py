"""`lbclient status`."""

from dataclasses import asdict, dataclass
from typing import Any

import click
from rich.text import Text

from lbclient.options import json_option
from lbclient.output import print_json, say, show
from lbclient.session import Session, pass_session
from lbclient.stack.health import UNREACHABLE, ServedModel, health, served_models
from lbclient.stack.processes import is_alive
from lbclient.stack.record import EVALUATOR, TRITON, Stack, read_stack
from lbclient.tables import plain_table

DOWN = 3
UP = "SERVING"


@dataclass(frozen=True)
class Part:
    """One row: a process of the stack, or a server that this machine did not start."""

    name: str
    address: str
    pid: int | None
    health: str


@click.command()
@json_option
@click.pass_context
@pass_session
def status(session: Session, context: click.Context, as_json: bool) -> None:
    """Show what runs here and whether it answers.

    Processes, addresses, health and served models of the local stack. With
    --server it shows the health of that server instead. Exit code 0 when
    everything is up, 3 otherwise.
    """
    stack = None if session.server else read_stack(session.home)
    parts = _local_parts(stack) if stack else _server_parts(session.target())
    models = served_models(stack.ports.triton_url) or [] if stack else []
    is_up = all(part.health == UP for part in parts)
    if as_json:
        print_json(_to_dict(is_up, parts, models))
    else:
        _show(parts, models)
        if not is_up:
            say(
                "not up"
                if stack
                else f"no stack is recorded in {session.home.root}; `lbclient up` starts one"
            )
    context.exit(0 if is_up else DOWN)


def _local_parts(stack: Stack) -> list[Part]:
    addresses = {TRITON: stack.ports.triton_url, EVALUATOR: stack.ports.evaluator_target}
    services = {TRITON: "triton", EVALUATOR: ""}
    parts = []
    for process in stack.processes:
        alive = is_alive(process)
        service = services.get(process.name, "")
        state = health(stack.ports.evaluator_target, service) if alive else "ENDED"
        address = addresses.get(process.name, "")
        parts.append(Part(process.name, address, process.pid if alive else None, state))
    return parts


def _server_parts(target: str) -> list[Part]:
    evaluator = health(target)
    parts = [Part(EVALUATOR, target, None, evaluator)]
    if evaluator != UNREACHABLE:
        parts.append(Part(TRITON, "as the evaluator sees it", None, health(target, "triton")))
    return parts


def _show(parts: list[Part], models: list[ServedModel]) -> None:
    table = plain_table("process", "pid", "address", "health", numeric=("pid",))
    for part in parts:
        style = "green" if part.health == UP else "red"
        pid = str(part.pid) if part.pid else "-"
        table.add_row(part.name, pid, part.address, Text(part.health, style))
    show(table)
    if models:
        served = plain_table("model", "ready")
        for model in models:
            served.add_row(model.name, "yes" if model.ready else f"no: {model.reason}")
        show("", served)


def _to_dict(is_up: bool, parts: list[Part], models: list[ServedModel]) -> dict[str, Any]:
    return {
        "up": is_up,
        "processes": [asdict(part) for part in parts],
        "models": [asdict(model) for model in models],
    }
