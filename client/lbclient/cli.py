"""The command line: the group, and the one place where an error becomes a message."""

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

import click

from lbclient.advice import next_step
from lbclient.commands.benchmarks import benchmarks
from lbclient.commands.cache import cache
from lbclient.commands.completion import completion
from lbclient.commands.doctor import doctor
from lbclient.commands.down import down
from lbclient.commands.evaluate import evaluate
from lbclient.commands.models import models
from lbclient.commands.report import report
from lbclient.commands.results import results
from lbclient.commands.runs import runs
from lbclient.commands.status import status
from lbclient.commands.up import up
from lbclient.errors import LookbenchClientError, NotReachable
from lbclient.home import find_home
from lbclient.interruption import Interrupted, hear_one_interrupt
from lbclient.options import SERVER
from lbclient.output import complain
from lbclient.session import Session

FAILED = 1
USAGE = 2
NOT_REACHABLE = 3
INTERRUPTED = 130


def _version() -> str:
    try:
        return version("lookbench-services")
    except PackageNotFoundError:
        return "unknown"


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(_version(), prog_name="lbclient")
@click.option(
    "--server",
    type=SERVER,
    envvar="LBCLIENT_SERVER",
    show_envvar=True,
    help="Evaluator to talk to. Default: the local stack of `lbclient up`, else 127.0.0.1:8090.",
)
@click.pass_context
def cli(context: click.Context, server: str | None) -> None:
    """Evaluate retrieval systems on benchmarks.

    \b
    A first evaluation on this machine:
      lbclient doctor                           what is missing, and how to get it
      lbclient up                               start Triton and the evaluator
      lbclient benchmarks fetch fashion-mnist   get the demonstration data
      lbclient benchmarks import fashion-mnist \\
          --format fashion-mnist --path FOLDER
      lbclient evaluate                         evaluate, print the table
      lbclient down                             stop both

    \b
    Exit codes: 0 done; 1 failed or refused; 2 wrong usage;
    3 nothing answers, or the local stack is down; 130 interrupted.

    \b
    Environment: LBCLIENT_SERVER as --server; LOOKBENCH_HOME folder of the local
    stack (default .lookbench in the current folder); NO_COLOR no colours;
    LBCLIENT_DEBUG=1 tracebacks.
    """  # noqa: D301 - click's mark
    context.obj = Session(home=find_home(), server=server)


for _command in (
    *(evaluate, runs, results, report, models, benchmarks, cache),
    *(up, down, status, doctor, completion),
):
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits with its code; shows no traceback."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a question mark, not an error.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    hear_one_interrupt()
    code = run(arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to interrupt
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; its exit code."""
    try:
        code = cli.main(args=arguments, prog_name="lbclient", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except LookbenchClientError as error:
        return _show_error(error)
    except BrokenPipeError:
        return _reader_left()
    except (click.Abort, KeyboardInterrupt) as error:
        return _interrupted(error)
    except Exception as error:
        return _unexpected(error)


def _show_error(error: LookbenchClientError) -> int:
    complain(error_text(error))
    if hint := next_step(error, find_home()):
        click.echo(hint, err=True)
    return NOT_REACHABLE if isinstance(error, NotReachable) else FAILED


def error_text(error: LookbenchClientError) -> str:
    """Message, reason and what the server added to it."""
    text = error.message
    for violation in error.field_violations:
        if violation.description not in text:
            text += f"\n  {violation.field}: {violation.description}"
    if error.reason:
        text += f" ({error.reason})"
    if "request_id" in error.metadata:
        text += f"\n  request {error.metadata['request_id']} in the server's log"
    return text


def _interrupted(error: BaseException) -> int:
    cause = error.__cause__ if isinstance(error, click.Abort) else error
    text = f"Interrupted. {cause}" if isinstance(cause, Interrupted) else "Interrupted."
    click.echo(text, err=True)
    return INTERRUPTED


def _unexpected(error: Exception) -> int:
    if os.environ.get("LBCLIENT_DEBUG"):
        traceback.print_exc()
    hint = "" if isinstance(error, OSError) else "; LBCLIENT_DEBUG=1 shows where"
    complain(f"{error} ({type(error).__name__}){hint}")
    return FAILED


def _reader_left() -> int:
    # `lbclient runs list | head`: the reader has seen enough. Python would complain
    # once more when it flushes at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED
