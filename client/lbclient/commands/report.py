"""`lbclient report`."""

import click

from lbclient.following import print_report
from lbclient.options import json_option
from lbclient.session import Session, pass_session


@click.command()
@click.argument("run")
@json_option
@pass_session
def report(session: Session, run: str, as_json: bool) -> None:
    """Print the table of a run that succeeded."""
    with session.client() as client:
        print_report(client.get_report(run), as_json=as_json)
