"""`lbclient models …`."""

import click

from lbclient.options import json_option
from lbclient.output import print_json, print_json_list, say, show
from lbclient.session import Session, pass_session
from lbclient.tables import model_fields, models_parts


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def models(context: click.Context, as_json: bool) -> None:
    """List the served models (the default), or show one."""
    if context.invoked_subcommand is None:
        context.invoke(list_models, as_json=as_json)


@models.command("list")
@json_option
@pass_session
def list_models(session: Session, as_json: bool) -> None:
    """List the models of Triton's repository and whether they are ready."""
    with session.client() as client:
        found = list(client.list_models())
    if as_json:
        print_json_list("models", found)
    elif not found:
        say("no models; export one with lookbench-export")
    else:
        show(*models_parts(found))


@models.command("show")
@click.argument("name")
@json_option
@pass_session
def show_model(session: Session, name: str, as_json: bool) -> None:
    """Show one model: where it came from, what it takes, how it was checked."""
    with session.client() as client:
        found = client.get_model(name)
    if as_json:
        print_json(found)
    else:
        show(model_fields(found))
