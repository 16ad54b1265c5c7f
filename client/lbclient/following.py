"""Following a run to its end at the command line: progress, Ctrl-C, the table."""

from collections.abc import Iterator
from contextlib import contextmanager

from lbclient.advice import EARLIER
from lbclient.errors import LookbenchClientError, NotReachable, RunCancelled, RunFailed
from lbclient.interruption import interruptible
from lbclient.names import short
from lbclient.output import print_json, say, show
from lbclient.progress import run_progress
from lbclient.report_tables import report_parts
from lbclient.session import Session
from lbclient.sync import SyncClient
from lbclient.times import run_duration
from lbclient.watch import is_finished, raise_unless_succeeded
from lookbench.v1.run_pb2 import Report, Run


def follow(session: Session, client: SyncClient, run: Run, *, as_json: bool) -> None:
    """Watches `run` until it has ended and prints its report.

    With `as_json` nothing but JSON is printed: the report, or the run when it
    did not succeed. Raises RunFailed or RunCancelled, Interrupted on Ctrl-C, and
    NotReachable at once when the local evaluator's process has ended.
    """
    final = _watch(session, client, run, quiet=as_json)
    if as_json and final.state != Run.SUCCEEDED:
        print_json(final)
    raise_unless_succeeded(final)
    name = short(final.name)
    with interruptible(f"{final.name} has finished; `lbclient report {name}` prints its table."):
        report = client.get_report(final.name)
    print_report(report, as_json=as_json)
    if not as_json:
        say(_ending(final))


@contextmanager
def ended_before(run: Run) -> Iterator[None]:
    """Marks the error of a run that had ended already when the command asked for it."""
    try:
        yield
    except (RunFailed, RunCancelled) as error:
        if is_finished(run):
            error.metadata = {**error.metadata, EARLIER: "true"}
        raise


def print_report(report: Report, *, as_json: bool) -> None:
    """The table of a report, or its JSON."""
    if as_json:
        print_json(report)
    else:
        show(*report_parts(report))


def _watch(session: Session, client: SyncClient, run: Run, *, quiet: bool) -> Run:
    last = run
    has_ended = session.local_evaluator_ended()

    def ended() -> NotReachable | None:
        if not has_ended():
            return None
        text = f"the evaluator at {client.target} has ended; {run.name} goes on with its next start"
        return NotReachable(text, metadata={"target": client.target})

    def on_lost(error: LookbenchClientError) -> None:
        if not quiet:
            say(f"{error.message}; the run goes on there, connecting again …")

    name = short(run.name)
    goes_on = (
        f"{run.name} goes on at the server.\n"
        f"  lbclient runs watch {name}    watches it again\n"
        f"  lbclient runs cancel {name}   stops it"
    )
    with interruptible(goes_on), run_progress(quiet=quiet) as show_progress:
        for last in client.watch_run(run, on_lost=on_lost, ended=ended):
            show_progress(last)
    return last


def _ending(run: Run) -> str:
    took = f" in {duration}" if (duration := run_duration(run)) else ""
    name = short(run.name)
    return (
        f"\n{run.name} finished{took}. `lbclient results {name}` shows single queries, "
        f"`lbclient report {name}` this table again."
    )
