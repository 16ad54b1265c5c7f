"""`lbclient runs …`."""

from contextlib import AbstractContextManager

import click

from lbclient.following import follow
from lbclient.interruption import interruptible
from lbclient.listing import take
from lbclient.names import short
from lbclient.options import json_option
from lbclient.output import print_json, print_json_list, say, show
from lbclient.session import Session, pass_session
from lbclient.tables import run_fields, runs_table
from lookbench.v1.run_pb2 import Run

_STATES = {name.lower(): number for name, number in Run.State.items() if number}


@click.group()
def runs() -> None:
    """List, show, watch, cancel, resume and delete runs."""


@runs.command("list")
@click.option("--benchmark", default="", metavar="ID", help="Only runs on this benchmark.")
@click.option("--model", default="", metavar="NAME", help="Only runs that use this model.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(list(_STATES), case_sensitive=False),
    help="Only runs in this state; may be repeated.",
)
@click.option(
    "--limit", type=click.IntRange(min=0), default=50, show_default=True, help="0 lists all."
)
@json_option
@pass_session
def list_runs(
    session: Session,
    /,
    *,
    benchmark: str,
    model: str,
    states: tuple[str, ...],
    limit: int,
    as_json: bool,
) -> None:
    """List runs, newest first.

    \b
    Examples:
      lbclient runs list --state running --state pending
      lbclient runs list --benchmark fashion-mnist --json
    """  # noqa: D301 - click's mark
    with session.client() as client:
        listing = client.list_runs(
            benchmark=benchmark,
            model=model,
            states=[Run.State.Name(_STATES[state]) for state in states],  # type: ignore[misc]
            page_size=min(limit + 1, 1000) if limit else 1000,
        )
        found, more = take(listing, limit)
    if as_json:
        print_json_list("runs", found)
    elif not found:
        say("no runs")
    else:
        show(runs_table(found))
        if more:
            say("and older ones; --limit 0 lists all")


@runs.command("show")
@click.argument("run")
@json_option
@pass_session
def show_run(session: Session, run: str, as_json: bool) -> None:
    """Show one run as it is now."""
    with session.client() as client:
        found = client.get_run(run)
    if as_json:
        print_json(found)
    else:
        show(run_fields(found))


@runs.command("watch")
@click.argument("run")
@json_option
@pass_session
def watch_run(session: Session, run: str, as_json: bool) -> None:
    """Watch a run until it has ended, then print its table.

    Ctrl-C stops the watching, not the run. A lost connection is opened again.
    """
    with session.client() as client:
        follow(session, client, client.get_run(run), as_json=as_json)


@runs.command("cancel")
@click.argument("run")
@json_option
@pass_session
def cancel_run(session: Session, run: str, as_json: bool) -> None:
    """Stop a run that has not ended; `runs resume` goes on with it."""
    with session.client() as client, _unsure(run, "may be cancelled"):
        _tell(client.cancel_run(run), "is being cancelled", as_json=as_json)


@runs.command("resume")
@click.argument("run")
@json_option
@pass_session
def resume_run(session: Session, run: str, as_json: bool) -> None:
    """Go on with a failed or cancelled run, with the versions that it was pinned to.

    What it has embedded is not embedded again.
    """
    with session.client() as client:
        with _unsure(run, "may be queued again"):
            resumed = client.resume_run(run)
        _tell(
            resumed,
            f"is queued again; `lbclient runs watch {short(resumed.name)}` watches it",
            as_json=as_json,
        )


@runs.command("delete")
@click.argument("names", nargs=-1, required=True, metavar="RUN...")
@pass_session
def delete_run(session: Session, names: tuple[str, ...]) -> None:
    """Remove runs that have ended, with their results. Cannot be undone."""
    with session.client() as client:
        for name in names:
            with _unsure(name, "may be deleted"):
                client.delete_run(name)
            say(f"runs/{short(name)} deleted")


def _unsure(run: str, what: str) -> AbstractContextManager[None]:
    """A Ctrl-C before the answer: the server may have done it all the same."""
    return interruptible(f"runs/{short(run)} {what}; `lbclient runs show {short(run)}` looks.")


def _tell(run: Run, what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(run)
    else:
        say(f"{run.name} {what}")
