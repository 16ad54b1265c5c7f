"""The same client for code without an event loop."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeVar

from lbclient.channel import DEFAULT_TARGET, MAX_MESSAGE_BYTES, RetryPolicy
from lbclient.client import Client
from lbclient.forks import FORKS
from lbclient.watch import Ended, OnLost, WatchPolicy
from lookbench.v1.benchmark_pb2 import Benchmark
from lookbench.v1.cache_pb2 import Cache
from lookbench.v1.evaluation_service_pb2 import PruneCacheResponse
from lookbench.v1.model_pb2 import Model
from lookbench.v1.run_pb2 import QueryResult, Report, Run

T = TypeVar("T")
SETTLE_S = 2.0


class SyncClient:
    """`Client` with blocking methods; see there for what each does and raises.

        with SyncClient("127.0.0.1:8090") as client:
            for model in client.list_models():
                print(model.name)

    It runs an event loop of its own, so it cannot be used inside a running one:
    use `Client` there. Not for several threads at once.
    """

    def __init__(
        self,
        target: str = DEFAULT_TARGET,
        *,
        timeout: float | None = 30.0,
        retry: RetryPolicy = RetryPolicy(),  # noqa: B008 - frozen
        watch: WatchPolicy = WatchPolicy(),  # noqa: B008 - frozen
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        caller: str | None = None,
    ) -> None:
        self._client = Client(
            target,
            timeout=timeout,
            retry=retry,
            watch=watch,
            max_message_bytes=max_message_bytes,
            caller=caller,
        )
        self._runner = asyncio.Runner()
        self._iterated: list[AsyncIterator[Any]] = []

    @property
    def target(self) -> str:
        """Address of the server."""
        return self._client.target

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the channel and the event loop, and ends listings that were left early.

        Does nothing in a child process that inherited them: they are the parent's.
        """
        if FORKS.inherited:
            return
        try:
            for source in list(self._iterated):
                self._end(source)
            self._wait(self._client.close())
        finally:
            self._runner.close()

    def create_run(self, run: Run, *, run_id: str = "", request_id: str | None = None) -> Run:
        """See Client.create_run."""
        return self._wait(self._client.create_run(run, run_id=run_id, request_id=request_id))

    def get_run(self, name: str) -> Run:
        """See Client.get_run."""
        return self._wait(self._client.get_run(name))

    def list_runs(
        self,
        *,
        benchmark: str = "",
        model: str = "",
        states: Sequence[Run.State] = (),
        page_size: int = 0,
    ) -> Iterator[Run]:
        """See Client.list_runs."""
        pager = self._client.list_runs(
            benchmark=benchmark, model=model, states=states, page_size=page_size
        )
        return self._iterate(aiter(pager))

    def watch_run(
        self, run: Run | str, *, on_lost: OnLost | None = None, ended: Ended | None = None
    ) -> Iterator[Run]:
        """See Client.watch_run."""
        return self._iterate(self._client.watch_run(run, on_lost=on_lost, ended=ended))

    def wait_for_report(self, run: Run | str) -> Report:
        """See Client.wait_for_report."""
        return self._wait(self._client.wait_for_report(run))

    def cancel_run(self, name: str) -> Run:
        """See Client.cancel_run."""
        return self._wait(self._client.cancel_run(name))

    def resume_run(self, name: str) -> Run:
        """See Client.resume_run."""
        return self._wait(self._client.resume_run(name))

    def delete_run(self, name: str) -> None:
        """See Client.delete_run."""
        self._wait(self._client.delete_run(name))

    def list_query_results(
        self, run: str, *, subset: str = "", page_size: int = 0
    ) -> Iterator[QueryResult]:
        """See Client.list_query_results."""
        pager = self._client.list_query_results(run, subset=subset, page_size=page_size)
        return self._iterate(aiter(pager))

    def get_report(self, run: str) -> Report:
        """See Client.get_report."""
        return self._wait(self._client.get_report(run))

    def list_benchmarks(self, *, page_size: int = 0) -> Iterator[Benchmark]:
        """See Client.list_benchmarks."""
        return self._iterate(aiter(self._client.list_benchmarks(page_size=page_size)))

    def get_benchmark(self, name: str) -> Benchmark:
        """See Client.get_benchmark."""
        return self._wait(self._client.get_benchmark(name))

    def import_benchmark(
        self,
        benchmark_id: str,
        *,
        format: str,
        path: str,
        options: Mapping[str, str] | None = None,
        allow_replace: bool = False,
    ) -> Benchmark:
        """See Client.import_benchmark."""
        return self._wait(
            self._client.import_benchmark(
                benchmark_id,
                format=format,
                path=path,
                options=options,
                allow_replace=allow_replace,
            )
        )

    def watch_benchmark(self, name: str, *, interval: float = 0.5) -> Iterator[Benchmark]:
        """See Client.watch_benchmark."""
        return self._iterate(self._client.watch_benchmark(name, interval=interval))

    def list_models(self, *, page_size: int = 0) -> Iterator[Model]:
        """See Client.list_models."""
        return self._iterate(aiter(self._client.list_models(page_size=page_size)))

    def get_model(self, name: str) -> Model:
        """See Client.get_model."""
        return self._wait(self._client.get_model(name))

    def get_cache(self) -> Cache:
        """See Client.get_cache."""
        return self._wait(self._client.get_cache())

    def prune_cache(
        self,
        *,
        max_bytes: int | None = None,
        unused_for: timedelta | None = None,
        model: str = "",
        everything: bool = False,
    ) -> PruneCacheResponse:
        """See Client.prune_cache."""
        return self._wait(
            self._client.prune_cache(
                max_bytes=max_bytes, unused_for=unused_for, model=model, everything=everything
            )
        )

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            FORKS.check()
            _refuse_running_loop()
        except BaseException:
            work.close()
            raise
        loop = self._runner.get_loop()
        task = loop.create_task(work)
        try:
            return loop.run_until_complete(task)
        except KeyboardInterrupt:
            _settle(loop, task)
            raise

    def _iterate(self, source: AsyncIterator[T]) -> Iterator[T]:
        """Items of `source`; it is ended when the caller stops early."""
        end = object()

        async def step() -> T | object:
            return await anext(source, end)

        self._iterated.append(source)
        try:
            while (item := self._wait(step())) is not end:
                yield item  # type: ignore[misc]
        finally:
            self._end(source)

    def _end(self, source: AsyncIterator[Any]) -> None:
        """Closes a generator once, while there is still an event loop to do it in."""
        if source not in self._iterated or FORKS.inherited:
            return
        self._iterated.remove(source)

        async def close() -> None:
            if isinstance(source, AsyncGenerator):
                await source.aclose()

        self._wait(close())


def _settle(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    """Lets a task that a Ctrl-C cut off come to its end, so that what it uses can be closed."""
    task.cancel()
    with contextlib.suppress(KeyboardInterrupt):
        loop.run_until_complete(asyncio.wait([task], timeout=SETTLE_S))
    if task.done() and not task.cancelled():
        task.exception()  # seen: it is the Ctrl-C itself


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("an event loop runs here already: use lbclient.Client")
