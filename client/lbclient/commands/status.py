"""`lbclient status`."""

from dataclasses import asdict, dataclass
from typing import Any

import click
from rich.text import Text

from lbclient.options import json_option
from lbclient.output import print_json, say, show
from lbclient.session import Session, pass_session
from lbclient.stack.health import (
    UNLOADED,
    UNREACHABLE,
    ServedModel,
    health,
    served_models,
)
from lbclient.stack.processes import is_alive
from lbclient.stack.record import EVALUATOR, TRITON, Stack, read_stack
from lbclient.tables import plain_table

DOWN = 3
UP = "SERVING"
PARTLY = "PARTLY"
"""Triton answers and serves some models, but not all."""
ENDED = "ENDED"


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
    everything is up and every model is served, 3 otherwise.
    """
    stack = None if session.server else read_stack(session.home)
    models = served_models(stack.ports.triton_url) or [] if stack else []
    parts = _local_parts(stack, models) if stack else _server_parts(session.target())
    is_up = all(part.health == UP for part in parts)
    if as_json:
        print_json(_to_dict(is_up, parts, models))
    else:
        _show(parts, models)
        if summary := _summary(session, stack, parts, models):
            say(summary)
    context.exit(0 if is_up else DOWN)


def _summary(
    session: Session, stack: Stack | None, parts: list[Part], models: list[ServedModel]
) -> str:
    """What is wrong and the next step; empty when everything is up."""
    if stack is not None:
        return _local_summary(session, stack, parts, models)
    target, states = parts[0].address, [part.health for part in parts]
    if all(state == UP for state in states):
        return ""
    if states[0] != UNREACHABLE:
        return f"{target} answers, but is not ready; `lbclient models` and its log say why"
    if session.server:
        return f"no evaluator answers at {target}; is the address right, and is it started there?"
    return (
        f"no stack is recorded in {session.home.root} (LOOKBENCH_HOME names another folder); "
        "`lbclient up` starts one"
    )


def _local_summary(
    session: Session, stack: Stack, parts: list[Part], models: list[ServedModel]
) -> str:
    ended = [part.name for part in parts if part.health == ENDED]
    if ended or not stack.is_whole():
        lost = " and ".join(ended) or "a part that was never started"
        return f"not up: {lost} ended; `lbclient up` starts it anew; logs: {session.home.logs}"
    broken = _broken(models)
    if broken and _all_answer(parts):
        return (
            f"up, but {', '.join(broken)} is not served; mend it in {stack.repository}, then "
            f"`lookbench-triton load {broken[0]}`"
        )
    if all(part.health == UP for part in parts):
        return ""
    return (
        f"not up yet: a part runs, but does not answer; wait, or look at the logs in "
        f"{session.home.logs}; `lbclient down && lbclient up` starts it anew"
    )


def _all_answer(parts: list[Part]) -> bool:
    """Whether every part answers, even if Triton lacks a model."""
    return all(part.health in (UP, PARTLY) for part in parts)


def _local_parts(stack: Stack, models: list[ServedModel]) -> list[Part]:
    addresses = {TRITON: stack.ports.triton_url, EVALUATOR: stack.ports.evaluator_target}
    services = {TRITON: "triton", EVALUATOR: ""}
    parts = []
    for process in stack.processes:
        alive = is_alive(process)
        service = services.get(process.name, "")
        state = health(stack.ports.evaluator_target, service) if alive else ENDED
        if process.name == TRITON and alive and _serves_part(models):
            state = PARTLY
        address = addresses.get(process.name, "")
        parts.append(Part(process.name, address, process.pid if alive else None, state))
    return parts


def _serves_part(models: list[ServedModel]) -> bool:
    return bool(_broken(models)) and any(model.ready for model in models)


def _broken(models: list[ServedModel]) -> list[str]:
    """Models that should be served and are not; one that was unloaded on purpose is fine."""
    return [model.name for model in models if not model.ready and model.reason != UNLOADED]


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
