"""The asynchronous client of the evaluation service."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Self, TypeVar, cast

import grpc
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from lbclient.caller import metadata, this_caller
from lbclient.channel import DEFAULT_TARGET, MAX_MESSAGE_BYTES, RetryPolicy, open_channel
from lbclient.errors import LookbenchClientError, error_from_status, translated
from lbclient.forks import FORKS
from lbclient.names import CACHE, benchmark_name, model_name, run_name
from lbclient.pages import Pager
from lbclient.watch import Ended, OnLost, RunWatch, Stream, WatchPolicy, raise_unless_succeeded
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1.benchmark_pb2 import Benchmark
from lookbench.v1.cache_pb2 import Cache
from lookbench.v1.evaluation_service_pb2_grpc import EvaluationServiceStub
from lookbench.v1.model_pb2 import Model
from lookbench.v1.run_pb2 import QueryResult, Report, Run

Answer = TypeVar("Answer", bound=Message)


class Client:
    """Speaks `lookbench.v1` with one evaluator.

        async with Client("127.0.0.1:8090") as client:
            async for model in client.list_models():
                print(model.name)

    timeout: seconds per call; None waits for ever. Watching has no deadline.
    retry: for calls that may be repeated: reads, and CreateRun by its request
    id. max_message_bytes: limit per message in both directions. caller: who asks;
    callers take turns in the queue; user@host when None.

    Names are accepted in full (`runs/nightly`) and short (`nightly`). Every
    method raises a LookbenchClientError when it fails. The channel is opened by
    the first call, in the event loop and the process of that call; a client
    belongs to one event loop. After a fork no client works in the child while one
    was open in the parent: calls raise Forked.
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
        self.target = target
        self._metadata = metadata(this_caller() if caller is None else caller)
        self._timeout = timeout
        self._retry = retry
        self._watch = watch
        self._max_message_bytes = max_message_bytes
        self._channel_and_stub: tuple[grpc.aio.Channel, EvaluationServiceStub] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the channel; calls in flight are cancelled. A later call opens a new one."""
        if self._channel_and_stub is not None and not FORKS.inherited:
            channel, _ = self._channel_and_stub
            self._channel_and_stub = None
            await channel.close()

    # Runs

    async def create_run(self, run: Run, *, run_id: str = "", request_id: str | None = None) -> Run:
        """Stores a run; returns it in PENDING.

        request_id: UUID4; a new one when None. The call is repeated on
        UNAVAILABLE with the same id, so that at most one run comes of it.
        """
        chosen = str(uuid.uuid4()) if request_id is None else request_id
        request = api.CreateRunRequest(run=run, run_id=run_id, request_id=chosen)
        return await self._call("CreateRun", request, Run, repeat=True)

    async def get_run(self, name: str) -> Run:
        """The run as it is now."""
        return await self._call("GetRun", api.GetRunRequest(name=run_name(name)), Run, repeat=True)

    def list_runs(
        self,
        *,
        benchmark: str = "",
        model: str = "",
        states: Sequence[Run.State] = (),
        page_size: int = 0,
    ) -> Pager[Run]:
        """Runs, newest first, of one benchmark, model or state when given."""

        async def fetch(token: str) -> tuple[Sequence[Run], str]:
            request = api.ListRunsRequest(
                page_size=page_size,
                page_token=token,
                benchmark=benchmark_name(benchmark),
                model=model_name(model),
                states=states,
            )
            answer = await self._call("ListRuns", request, api.ListRunsResponse, repeat=True)
            return answer.runs, answer.next_page_token

        return Pager(fetch)

    def watch_run(
        self, run: Run | str, *, on_lost: OnLost | None = None, ended: Ended | None = None
    ) -> AsyncIterator[Run]:
        """The run as it is now, then each change, until it has ended.

        A lost connection is opened again, for as long as the watch policy says;
        `on_lost` is told once each time. `ended` is asked before each attempt
        whether the server is gone for good. Giving a Run instead of its name
        says that the server is known to have it.
        """
        name = run.name if isinstance(run, Run) else run_name(run)

        def open_stream() -> Stream:
            with translated(self.target):
                stream = self._stub.WatchRun(api.WatchRunRequest(name=name))
            return cast(Stream, stream)

        watch = RunWatch(
            self.target,
            open_stream,
            lambda: self.get_run(name),
            self._watch,
            met=isinstance(run, Run),
            on_lost=on_lost,
            ended=ended,
        )
        return watch.states()

    async def wait_for_report(self, run: Run | str) -> Report:
        """The report, once the run has ended. Raises RunFailed or RunCancelled."""
        async for state in self.watch_run(run):
            last = state
        raise_unless_succeeded(last)
        return await self.get_report(last.name)

    async def cancel_run(self, name: str) -> Run:
        """Stops a run that has not ended."""
        return await self._call("CancelRun", api.CancelRunRequest(name=run_name(name)), Run)

    async def resume_run(self, name: str) -> Run:
        """Queues a FAILED or CANCELLED run again, with the versions it was pinned to."""
        return await self._call("ResumeRun", api.ResumeRunRequest(name=run_name(name)), Run)

    async def delete_run(self, name: str) -> None:
        """Removes a run that has ended, with its results."""
        await self._call("DeleteRun", api.DeleteRunRequest(name=run_name(name)), Empty)

    def list_query_results(
        self, run: str, *, subset: str = "", page_size: int = 0
    ) -> Pager[QueryResult]:
        """What each query got, in the order of the benchmark's queries."""

        async def fetch(token: str) -> tuple[Sequence[QueryResult], str]:
            request = api.ListQueryResultsRequest(
                parent=run_name(run), page_size=page_size, page_token=token, subset=subset
            )
            answer = await self._call(
                "ListQueryResults", request, api.ListQueryResultsResponse, repeat=True
            )
            return answer.query_results, answer.next_page_token

        return Pager(fetch)

    async def get_report(self, run: str) -> Report:
        """The numbers of a run that SUCCEEDED."""
        request = api.GetReportRequest(name=run_name(run))
        return await self._call("GetReport", request, Report, repeat=True)

    # Benchmarks

    def list_benchmarks(self, *, page_size: int = 0) -> Pager[Benchmark]:
        """Benchmarks that were imported, ready or not."""

        async def fetch(token: str) -> tuple[Sequence[Benchmark], str]:
            request = api.ListBenchmarksRequest(page_size=page_size, page_token=token)
            answer = await self._call(
                "ListBenchmarks", request, api.ListBenchmarksResponse, repeat=True
            )
            return answer.benchmarks, answer.next_page_token

        return Pager(fetch)

    async def get_benchmark(self, name: str) -> Benchmark:
        """The benchmark as it is now."""
        request = api.GetBenchmarkRequest(name=benchmark_name(name))
        return await self._call("GetBenchmark", request, Benchmark, repeat=True)

    async def import_benchmark(
        self,
        benchmark_id: str,
        *,
        format: str,
        path: str,
        options: Mapping[str, str] | None = None,
        allow_replace: bool = False,
    ) -> Benchmark:
        """Starts an import on the server; returns the benchmark in IMPORTING.

        path: a folder below one of the server's data roots.
        """
        request = api.ImportBenchmarkRequest(
            benchmark_id=benchmark_id,
            format=format,
            path=path,
            options=options,
            allow_replace=allow_replace,
        )
        return await self._call("ImportBenchmark", request, Benchmark)

    async def watch_benchmark(
        self, name: str, *, interval: float = 0.5
    ) -> AsyncIterator[Benchmark]:
        """The benchmark every `interval` seconds until it is READY or FAILED."""
        while True:
            benchmark = await self.get_benchmark(name)
            yield benchmark
            if benchmark.state in (Benchmark.READY, Benchmark.FAILED):
                return
            await asyncio.sleep(interval)

    # Models

    def list_models(self, *, page_size: int = 0) -> Pager[Model]:
        """Models of the server's repository, ready or not."""

        async def fetch(token: str) -> tuple[Sequence[Model], str]:
            request = api.ListModelsRequest(page_size=page_size, page_token=token)
            answer = await self._call("ListModels", request, api.ListModelsResponse, repeat=True)
            return answer.models, answer.next_page_token

        return Pager(fetch)

    async def get_model(self, name: str) -> Model:
        """One model."""
        request = api.GetModelRequest(name=model_name(name))
        return await self._call("GetModel", request, Model, repeat=True)

    # Cache

    async def get_cache(self) -> Cache:
        """What the server keeps of embeddings between runs."""
        return await self._call("GetCache", api.GetCacheRequest(name=CACHE), Cache, repeat=True)

    async def prune_cache(
        self,
        *,
        max_bytes: int | None = None,
        unused_for: timedelta | None = None,
        model: str = "",
        everything: bool = False,
    ) -> api.PruneCacheResponse:
        """Removes embeddings: everything, or those for which all other conditions hold.

        max_bytes: only so many, least recently used first, that no more stays on disk.
        unused_for: only those that were not used for so long. Waits for as long as it
        takes: gigabytes go in seconds to minutes.
        """
        request = api.PruneCacheRequest(
            name=CACHE, max_bytes=max_bytes, model=model_name(model), all=everything
        )
        if unused_for is not None:
            request.unused_for.FromTimedelta(unused_for)
        return await self._call("PruneCache", request, api.PruneCacheResponse, patient=True)

    # Calls

    @property
    def _stub(self) -> EvaluationServiceStub:
        FORKS.check()
        if self._channel_and_stub is None:
            channel = open_channel(self.target, self._max_message_bytes)
            self._channel_and_stub = channel, EvaluationServiceStub(channel)  # type: ignore[no-untyped-call]
        return self._channel_and_stub[1]

    async def _call(
        self,
        method: str,
        request: Message,
        answer: type[Answer],
        *,
        repeat: bool = False,
        patient: bool = False,
    ) -> Answer:
        """One call, repeated on UNAVAILABLE when that is safe; without a deadline if patient."""
        timeout = None if patient else self._timeout
        attempt = 1
        while True:
            try:
                with translated(self.target):
                    call = getattr(self._stub, method)
                    sent = call(request, timeout=timeout, metadata=self._metadata)
                    return cast(Answer, await sent)
            except LookbenchClientError as error:
                last = attempt >= self._retry.attempts
                if last or not repeat or error.code != "UNAVAILABLE":
                    raise
                delay = self._retry.delay(attempt, error.retry_delay)
            await asyncio.sleep(delay * random.uniform(0.75, 1.25))  # noqa: S311
            attempt += 1


def import_error(benchmark: Benchmark) -> LookbenchClientError | None:
    """Why the last import failed; None unless it did.

    A benchmark whose replacement failed is READY and has an error: it is as it was.
    """
    if benchmark.state != Benchmark.FAILED and not benchmark.error.code:
        return None
    error = error_from_status(benchmark.error)
    reason = error.message or "the server gave no reason"
    if benchmark.state == Benchmark.FAILED:
        error.message = f"import of {benchmark.name} failed: {reason}"
    else:
        error.message = f"the replacement failed: {reason}; {benchmark.name} is as it was"
    error.args = (error.message,)
    return error
