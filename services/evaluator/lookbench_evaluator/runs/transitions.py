"""Edits of a stored run: each takes it from one state to the next, or refuses."""

from collections.abc import Callable
from datetime import UTC, datetime

from lookbench_evaluator.errors import RunNotCancellable, RunNotResumable, WrongState
from lookbench_evaluator.failures import failure_of
from lookbench_evaluator.runs.model import Progress, Run, Stage, State

Edit = Callable[[Run], Run]


def now() -> datetime:
    """The time that is stored with runs."""
    return datetime.now(UTC)


def started(run: Run) -> Run:
    """PENDING → RUNNING. Raises WrongState."""
    if run.state is not State.PENDING:  # cancelled, or queued twice
        raise WrongState(f"runs/{run.id} is {run.state}", name=f"runs/{run.id}", state=run.state)
    return run.model_copy(update={"state": State.RUNNING, "started": now()})


def succeeded(execution: Run) -> Edit:
    """RUNNING → SUCCEEDED, for the execution that began with `execution`."""
    return lambda run: _ended(_same(run, execution), State.SUCCEEDED).model_copy(
        update={"progress": run.progress.model_copy(update={"stage": Stage.DONE})}
    )


def failed(execution: Run, error: Exception) -> Edit:
    """RUNNING → FAILED, for the execution that began with `execution`."""
    return lambda run: _ended(_same(run, execution), State.FAILED).model_copy(
        update={"failure": failure_of(error)}
    )


def cancelled(run: Run) -> Run:
    """Any state before the end → CANCELLED. Raises RunNotCancellable."""
    if run.state.terminal:
        raise RunNotCancellable(
            f"runs/{run.id} is {run.state} already", name=f"runs/{run.id}", state=run.state
        )
    return _ended(run, State.CANCELLED)


def resumed(run: Run) -> Run:
    """FAILED or CANCELLED → PENDING, with the pinned versions. Raises RunNotResumable."""
    if run.state not in {State.FAILED, State.CANCELLED}:
        raise RunNotResumable(
            f"runs/{run.id} is {run.state}; only FAILED and CANCELLED runs can be resumed",
            name=f"runs/{run.id}",
            state=run.state,
        )
    return queued_again(run).model_copy(update={"failure": None, "ended": None})


def queued_again(run: Run) -> Run:
    """Waiting once more, from the beginning."""
    return run.model_copy(update={"state": State.PENDING, "progress": Progress()})


def _ended(run: Run, state: State) -> Run:
    # Clocks may be set back; a run never ends before it began.
    ended = max(now(), run.started or run.created)
    return run.model_copy(update={"state": state, "ended": ended})


def _same(run: Run, execution: Run) -> Run:
    """Refuses the end of an execution that is not the current one any more."""
    if (run.state, run.started) != (State.RUNNING, execution.started):
        raise WrongState(f"runs/{run.id} went on without this execution", state=run.state)
    return run
