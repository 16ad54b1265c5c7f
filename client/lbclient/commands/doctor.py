"""`lbclient doctor`."""

import click
from rich.text import Text

from lbclient.diagnosis import Place, examine, is_fit, to_dict, to_do
from lbclient.home import model_repository
from lbclient.options import json_option
from lbclient.output import print_json, say, show
from lbclient.session import Session, pass_session
from lbclient.tables import plain_table

_STYLES = {"ok": "green", "warning": "yellow", "missing": "red"}


@click.command()
@json_option
@click.pass_context
@pass_session
def doctor(session: Session, context: click.Context, as_json: bool) -> None:
    """Say what is missing here, and how to get it.

    Examines what a local stack needs and names the command that fixes each gap.

    Exit code 0 when nothing needed is missing, 1 otherwise.
    """
    findings = examine(Place(session.home, model_repository(session.home)))
    fit = is_fit(findings)
    if as_json:
        print_json(
            {"fit": fit, "home": str(session.home.root), "checks": [*map(to_dict, findings)]}
        )
    else:
        table = plain_table("check", "status", "found")
        for finding in findings:
            table.add_row(
                finding.name, Text(finding.status, _STYLES[finding.status]), finding.detail
            )
        show(table)
        if fixes := to_do(findings):
            show("", "To do:", *(f"  {fix}" for fix in fixes))
        say(f"\nhome: {session.home.root}")
    context.exit(0 if fit else 1)
