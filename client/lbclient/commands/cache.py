"""`lbclient cache …`."""

import sys
from datetime import timedelta

import click

from lbclient.cache_tables import cache_parts, removed_text
from lbclient.options import DURATION, SIZE, json_option
from lbclient.output import print_json, say, show
from lbclient.session import Session, pass_session
from lbclient.sizes import size_text
from lbclient.sync import SyncClient
from lbclient.tables import counted


@click.group()
def cache() -> None:
    """Show or prune the embeddings that the server keeps between runs.

    What was embedded once is not embedded again: a run takes from the cache what
    has the same content, model, role, instruction, preset, precision and dimension.
    Removing it changes no number, it only costs the time to embed again. The server's
    cache_bytes limits its size (0 keeps nothing); what was not used for longest goes
    first.
    """


@cache.command("show")
@json_option
@pass_session
def show_cache(session: Session, as_json: bool) -> None:
    """Show how full the cache is, and with what.

    \b
    Examples:
      lbclient cache show
      lbclient cache show --json
    """  # noqa: D301 - click's mark
    with session.client() as client:
        found = client.get_cache()
    if as_json:
        print_json(found)
    else:
        show(*cache_parts(found))


@cache.command("prune")
@click.option(
    "--max-size",
    type=SIZE,
    metavar="SIZE",
    help="Remove, least recently used first, until it takes no more on disk: 5GiB, 500MB, 0.",
)
@click.option(
    "--older-than",
    type=DURATION,
    metavar="DURATION",
    help="Remove what was not used for so long: 30d, 12h.",
)
@click.option("--model", default="", metavar="NAME", help="Remove embeddings of this model.")
@click.option("--all", "everything", is_flag=True, help="Remove everything.")
@click.option("--yes", is_flag=True, help="Do not ask before --all.")
@json_option
@pass_session
def prune_cache(
    session: Session,
    /,
    *,
    max_size: int | None,
    older_than: timedelta | None,
    model: str,
    everything: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Remove embeddings and return their space to the disk.

    Conditions given together must all hold: --model clip --older-than 30d removes what
    clip made and nobody used for 30 days. Runs that are going stay right; they embed
    again what they miss. --all asks first on a terminal.

    \b
    Examples:
      lbclient cache prune --max-size 5GiB
      lbclient cache prune --older-than 30d
      lbclient cache prune --model efficientnet-lite0
      lbclient cache prune --all --yes
    """  # noqa: D301 - click's mark
    narrowed = max_size is not None or older_than is not None or bool(model)
    if everything == narrowed:
        raise click.UsageError(
            "--all stands alone; leave the other conditions out"
            if everything
            else "say what to remove: --max-size, --older-than, --model, or --all"
        )
    with session.client() as client:
        if everything and not yes and sys.stdin.isatty():
            _confirm(client)
        answer = client.prune_cache(
            max_bytes=max_size, unused_for=older_than, model=model, everything=everything
        )
    if as_json:
        print_json(answer)
    else:
        say(removed_text(answer.removed_entry_count, answer.removed_bytes, answer.cache))


def _confirm(client: SyncClient) -> None:
    found = client.get_cache()
    kept = counted(found.entry_count, "embedding", "embeddings")
    question = f"Remove all {kept} ({size_text(found.size_bytes)}) at {client.target}?"
    if not click.confirm(question, err=True):
        say("nothing was removed")
        raise click.exceptions.Exit(1)
