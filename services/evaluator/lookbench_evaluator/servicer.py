"""The RPCs. Each converts, calls one function, and converts back."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Any, TypeVar

from google.protobuf import empty_pb2
from google.protobuf.message import Message

from lookbench.v1 import benchmark_pb2, cache_pb2, evaluation_service_pb2, model_pb2, run_pb2
from lookbench.v1.evaluation_service_pb2_grpc import EvaluationServiceServicer
from lookbench_evaluator import convert, convert_cache
from lookbench_evaluator.benchmarks.catalog import BenchmarkCatalog
from lookbench_evaluator.callers import caller_of
from lookbench_evaluator.convert import resource_id
from lookbench_evaluator.models import ModelCatalog
from lookbench_evaluator.paging import page_position, page_size, page_token
from lookbench_evaluator.runs.service import RunService
from lookbench_evaluator.runs.store import RunFilter
from lookbench_inference.cache import EmbeddingCache

api = evaluation_service_pb2
Context = Any
T = TypeVar("T")
M = TypeVar("M", bound=Message)
# A page ends early rather than exceed gRPC's default limit of 4 MiB.
PAGE_BYTES = 2 << 20


class Servicer(EvaluationServiceServicer):
    """lookbench.v1.EvaluationService."""

    def __init__(
        self,
        runs: RunService,
        benchmarks: BenchmarkCatalog,
        models: ModelCatalog,
        cache: EmbeddingCache,
    ) -> None:
        self._runs, self._benchmarks, self._models = runs, benchmarks, models
        self._cache = cache

    async def CreateRun(self, request: api.CreateRunRequest, context: Context) -> run_pb2.Run:  # noqa: N802, D102
        spec = convert.specification_from_proto(request.run)
        return convert.run_to_proto(
            await self._runs.create(spec, request.run_id, request.request_id, caller_of(context))
        )

    async def GetRun(self, request: api.GetRunRequest, context: Context) -> run_pb2.Run:  # noqa: N802, D102
        return convert.run_to_proto(await self._runs.get(resource_id(request.name, "runs", "name")))

    async def ListRuns(  # noqa: N802, D102
        self, request: api.ListRunsRequest, context: Context
    ) -> api.ListRunsResponse:
        size = page_size(request.page_size)
        wanted = _run_filter(request)
        arguments = ("runs", request.benchmark, request.model, sorted(request.states))
        before = page_position(request.page_token, *arguments)
        found = await self._runs.list(
            RunFilter(wanted.benchmark, wanted.model, wanted.states, before), size + 1
        )
        kept = _fitting((convert.run_to_proto(run) for _, run in found), size)
        more = len(found) > len(kept)
        return api.ListRunsResponse(
            runs=kept,
            next_page_token=page_token(found[len(kept) - 1][0], *arguments) if more else "",
        )

    async def WatchRun(  # noqa: N802, D102
        self, request: api.WatchRunRequest, context: Context
    ) -> AsyncIterator[api.WatchRunResponse]:
        async for run in self._runs.watch(resource_id(request.name, "runs", "name")):
            yield api.WatchRunResponse(run=convert.run_to_proto(run))

    async def CancelRun(self, request: api.CancelRunRequest, context: Context) -> run_pb2.Run:  # noqa: N802, D102
        return convert.run_to_proto(
            await self._runs.cancel(resource_id(request.name, "runs", "name"))
        )

    async def ResumeRun(self, request: api.ResumeRunRequest, context: Context) -> run_pb2.Run:  # noqa: N802, D102
        return convert.run_to_proto(
            await self._runs.resume(resource_id(request.name, "runs", "name"))
        )

    async def DeleteRun(  # noqa: N802, D102
        self, request: api.DeleteRunRequest, context: Context
    ) -> empty_pb2.Empty:
        await self._runs.delete(resource_id(request.name, "runs", "name"))
        return empty_pb2.Empty()

    async def ListQueryResults(  # noqa: N802, D102
        self, request: api.ListQueryResultsRequest, context: Context
    ) -> api.ListQueryResultsResponse:
        run_id = resource_id(request.parent, "runs", "parent")
        size = page_size(request.page_size)
        arguments = ("results", run_id, request.subset)
        start = page_position(request.page_token, *arguments) or 0
        run = await self._runs.get(run_id)
        found = await self._runs.results(run_id, request.subset, start, size + 1)
        judgements = run.specification.options.judgements
        kept = await asyncio.to_thread(
            _fitting, (convert.result_to_proto(result, judgements) for _, result in found), size
        )
        more = len(found) > len(kept)
        return api.ListQueryResultsResponse(
            query_results=kept,
            next_page_token=page_token(found[len(kept)][0], *arguments) if more else "",
        )

    async def GetReport(self, request: api.GetReportRequest, context: Context) -> run_pb2.Report:  # noqa: N802, D102
        return convert.report_to_proto(
            *await self._runs.report(resource_id(request.name, "runs", "name"))
        )

    async def ListBenchmarks(  # noqa: N802, D102
        self, request: api.ListBenchmarksRequest, context: Context
    ) -> api.ListBenchmarksResponse:
        records = await asyncio.to_thread(self._benchmarks.all)
        page, token = _page(records, request.page_size, request.page_token, "benchmarks")
        return api.ListBenchmarksResponse(
            benchmarks=[convert.benchmark_to_proto(r) for r in page], next_page_token=token
        )

    async def GetBenchmark(  # noqa: N802, D102
        self, request: api.GetBenchmarkRequest, context: Context
    ) -> benchmark_pb2.Benchmark:
        identifier = resource_id(request.name, "benchmarks", "name")
        return convert.benchmark_to_proto(await asyncio.to_thread(self._benchmarks.get, identifier))

    async def ImportBenchmark(  # noqa: N802, D102
        self, request: api.ImportBenchmarkRequest, context: Context
    ) -> benchmark_pb2.Benchmark:
        return convert.benchmark_to_proto(
            await self._benchmarks.start_import(
                request.benchmark_id,
                request.format,
                request.path,
                dict(request.options),
                request.allow_replace,
            )
        )

    async def ListModels(  # noqa: N802, D102
        self, request: api.ListModelsRequest, context: Context
    ) -> api.ListModelsResponse:
        infos = await self._models.all()
        page, token = _page(infos, request.page_size, request.page_token, "models")
        return api.ListModelsResponse(
            models=[convert.model_to_proto(info) for info in page], next_page_token=token
        )

    async def GetModel(self, request: api.GetModelRequest, context: Context) -> model_pb2.Model:  # noqa: N802, D102
        return convert.model_to_proto(
            await self._models.get(resource_id(request.name, "models", "name"))
        )

    async def GetCache(self, request: api.GetCacheRequest, context: Context) -> cache_pb2.Cache:  # noqa: N802, D102
        convert_cache.check_name(request.name)
        return convert_cache.cache_to_proto(await asyncio.to_thread(self._cache.summary))

    async def PruneCache(  # noqa: N802, D102
        self, request: api.PruneCacheRequest, context: Context
    ) -> api.PruneCacheResponse:
        conditions = convert_cache.conditions_from_proto(request)
        removed = await asyncio.to_thread(partial(self._cache.prune, **conditions))
        now = await asyncio.to_thread(self._cache.summary)
        return convert_cache.pruned_to_proto(removed, now)


def _fitting(messages: Iterable[M], size: int) -> list[M]:
    """The leading messages, at most `size` of them and PAGE_BYTES in all, at least one."""
    kept: list[M] = []
    room = PAGE_BYTES
    for message in itertools.islice(messages, size):
        room -= message.ByteSize()
        if kept and room < 0:
            break
        kept.append(message)
    return kept


def _run_filter(request: api.ListRunsRequest) -> RunFilter:
    benchmark, model = request.benchmark, request.model
    return RunFilter(
        benchmark=benchmark and resource_id(benchmark, "benchmarks", "benchmark"),
        model=model and resource_id(model, "models", "model"),
        states=convert.states_from_proto(request.states),
    )


def _page(everything: list[T], size: int, token: str, listing: str) -> tuple[list[T], str]:
    """One page of a short listing that is in memory anyway."""
    start = page_position(token, listing) or 0
    end = start + page_size(size)
    return everything[start:end], page_token(end, listing) if end < len(everything) else ""
