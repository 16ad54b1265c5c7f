"""How a run is going, for people: a bar on a terminal, a line now and then elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from lbclient.output import console, say
from lbclient.tables import count
from lbclient.times import duration_text
from lookbench.v1.benchmark_pb2 import Benchmark
from lookbench.v1.run_pb2 import Progress as RunProgress
from lookbench.v1.run_pb2 import Run

LINE_INTERVAL = 10.0
"""Seconds between plain lines of the same stage."""

_STAGES = {
    RunProgress.WAITING: "waiting",
    RunProgress.EMBEDDING_QUERIES: "embedding queries",
    RunProgress.EMBEDDING_ITEMS: "embedding items",
    RunProgress.RANKING: "ranking",
    RunProgress.SCORING: "scoring",
    RunProgress.DONE: "done",
}

Show = Callable[[Run], None]


def stage_text(run: Run) -> str:
    """What the run does now."""
    if run.state == Run.PENDING:
        return "waiting for its turn"
    return _STAGES.get(run.progress.stage, "running")


def speed_text(progress: RunProgress) -> str:
    """Rate, remaining time, and what was cached, resumed or rejected, where known."""
    parts = []
    if progress.rate:
        parts.append(f"{progress.rate:,.0f}/s" if progress.rate >= 10 else f"{progress.rate:.1f}/s")
    if progress.HasField("remaining"):
        parts.append(f"about {duration_text(progress.remaining.ToNanoseconds() / 1e9)} left")
    if progress.cache_hits:
        parts.append(f"{count(progress.cache_hits)} from cache")
    if progress.resumed:
        parts.append(f"{count(progress.resumed)} done before")
    if progress.rejected:
        parts.append(f"{count(progress.rejected)} rejected")
    return ", ".join(parts)


def progress_line(run: Run) -> str:
    """The state of a run in one line."""
    progress = run.progress
    parts = [stage_text(run)]
    if progress.total:
        share = 100 * progress.done // progress.total
        parts.append(f"{count(progress.done)} of {count(progress.total)} ({share} %)")
    parts.append(speed_text(progress))
    return ", ".join(part for part in parts if part)


class LineProgress:
    """A line at each new stage, and every `interval` seconds within one."""

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        interval: float = LINE_INTERVAL,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._write = write
        self._interval = interval
        self._clock = clock
        self._stage = ""
        self._last = 0.0

    def show(self, run: Run) -> None:
        """Writes a line when one is due."""
        now, stage = self._clock(), stage_text(run)
        if stage != self._stage or now - self._last >= self._interval:
            self._stage, self._last = stage, now
            self._write(progress_line(run))


@contextmanager
def run_progress(*, quiet: bool) -> Iterator[Show]:
    """A function to call with each state of a run; shows nothing when `quiet`."""
    if quiet:
        yield lambda run: None
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield LineProgress(say).show


@contextmanager
def _bar() -> Iterator[Show]:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}", markup=False),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("waiting", total=None, speed="")

        def show(run: Run) -> None:
            progress = run.progress
            bar.update(
                task,
                description=stage_text(run),
                completed=progress.done,
                total=progress.total or None,
                speed=speed_text(progress),
            )

        yield show


ImportShow = Callable[[Benchmark], None]


@contextmanager
def import_progress(benchmark: Benchmark, *, quiet: bool) -> Iterator[ImportShow]:
    """A function to call with each state of an import."""
    if quiet:
        yield lambda state: None
    elif sys.stderr.isatty():
        with console(stderr=True).status(f"importing {benchmark.name}") as spinner:
            yield lambda state: spinner.update(_import_line(state))
    else:
        yield _ImportLines().show


class _ImportLines:
    """A line every few seconds."""

    def __init__(self) -> None:
        self._last = monotonic()

    def show(self, state: Benchmark) -> None:
        """Writes a line when one is due."""
        if monotonic() - self._last >= LINE_INTERVAL:
            self._last = monotonic()
            say(_import_line(state))


def _import_line(benchmark: Benchmark) -> str:
    return f"importing {benchmark.name}: {count(benchmark.imported_rows)} rows read"
