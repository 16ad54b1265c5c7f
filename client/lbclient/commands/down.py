"""`lbclient down`."""

import click

from lbclient.interruption import interruptible
from lbclient.output import say
from lbclient.session import Session, pass_session
from lbclient.stack.launch import stop_stack
from lbclient.stack.record import locked, read_stack, remove_stack


@click.command()
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="Seconds that each process may take before it is killed.",
)
@pass_session
def down(session: Session, grace: float) -> None:
    """Stop what `lbclient up` started.

    Runs that are under way stop and go on with the next `lbclient up`.
    """
    home = session.home
    if not home.stack_file.exists():
        say(f"nothing to stop: no stack is recorded in {home.root}")
        return
    again = "Some of it may still run; `lbclient down` goes on."
    with interruptible(again), locked(home):
        stack = read_stack(home)
        if stack is not None:
            stop_stack(stack, grace=grace, say=say)
            remove_stack(home)
