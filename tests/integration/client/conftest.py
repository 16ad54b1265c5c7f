"""A real gRPC server with canned answers, on a free port of the loopback address."""

import json
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.protobuf.empty_pb2 import Empty
from google.rpc import status_pb2
from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import ErrorInfo
from grpc_status import rpc_status

from lbclient import cli
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1.benchmark_pb2 import Benchmark
from lookbench.v1.cache_pb2 import Cache
from lookbench.v1.evaluation_service_pb2_grpc import (
    EvaluationServiceServicer,
    add_EvaluationServiceServicer_to_server,
)
from lookbench.v1.model_pb2 import Model
from lookbench.v1.run_pb2 import (
    MetricValue,
    Progress,
    QueryResult,
    RankedItem,
    Report,
    Run,
    SubsetSummary,
)
from lookbench_core.errors import DOMAIN


def failure(code, message, reason, name="x"):
    """A google.rpc.Status as the evaluator sends it."""
    detail = Any()
    detail.Pack(ErrorInfo(reason=reason, domain=DOMAIN, metadata={"name": name}))
    return status_pb2.Status(code=Code.Value(code), message=message, details=[detail])


def _model(name, kind):
    return Model(name=f"models/{name}", kind=kind, ready=True, dimension=8)


def _metric(metric, cutoff, value):
    return MetricValue(
        subset="main",
        judgement="class",
        metric=metric,
        cutoff=cutoff,
        value=value,
        query_count=3,
    )


class CannedEvaluator(EvaluationServiceServicer):
    """One benchmark, two models, and runs that go through a script.

    script: states that WatchRun sends, in order; the last one stays. drop:
    how many watches break after each one message. fail: method → status to
    answer with, as often as its count says. existing: what an import finds.
    import_error: how each import ends. held: methods that do not answer until
    `answer` is set. calls: what was asked.
    """

    def __init__(self):
        self.calls = []
        self.runs = {}
        self.requests = {}
        self.drop = 0
        self.fail = {}
        self.held = set()
        self.answer = threading.Event()
        self.existing = None
        self.import_error = None
        self.script = [
            (Run.RUNNING, Progress.EMBEDDING_QUERIES, 1),
            (Run.RUNNING, Progress.EMBEDDING_ITEMS, 5),
            (Run.SUCCEEDED, Progress.DONE, 7),
        ]
        self.go_on = threading.Event()
        self.go_on.set()
        self.benchmarks = [
            Benchmark(
                name="benchmarks/fm",
                state=Benchmark.READY,
                query_modality=Benchmark.IMAGE,
                item_modality=Benchmark.IMAGE,
                subsets=[Benchmark.Subset(name="main", query_count=3, item_count=4)],
            )
        ]
        self.models = [
            _model("lite0", Model.IMAGE_EMBEDDING),
            _model("minilm", Model.TEXT_EMBEDDING),
        ]
        self.results = [
            QueryResult(
                subset="main",
                query_id=f"q{number}",
                ranking=[RankedItem(item_id="i1", score=0.5, grades=[float(value)])],
                metrics=[_metric("hit", 1, value)],
            )
            for number, value in enumerate([1.0, 0.0, 1.0])
        ]
        self.metrics = [_metric("hit", 1, 2 / 3), _metric("hit", 5, 1.0)]
        self.cache = Cache(
            name="cache",
            path="/var/lib/lookbench/cache/embeddings.sqlite3",
            limit_bytes=20 << 30,
            size_bytes=4 << 20,
            entry_count=1200,
            spaces=[Cache.Space(model="models/lite0", preset="lookbench", entry_count=1200)],
            space_count=1,
        )

    def _answer(self, method, request, context):
        """Notes the call; fails it when the test said so."""
        self.calls.append((method, request))
        while method in self.held and context.is_active() and not self.answer.wait(0.05):
            pass
        count, status = self.fail.get(method, (0, None))
        if count:
            self.fail[method] = (count - 1, status)
            context.abort_with_status(rpc_status.to_status(status))

    def _find(self, name, context):
        if name not in self.runs:
            missing = failure("NOT_FOUND", f"{name} does not exist", "RUN_NOT_FOUND")
            context.abort_with_status(rpc_status.to_status(missing))
        return self.runs[name]

    def CreateRun(self, request, context):
        known = self.requests.get(request.request_id)
        if known is None:
            name = f"runs/{request.run_id or f'r{len(self.runs) + 1}'}"
            if name in self.runs:
                text = f"{name} exists already; choose another run_id (`--run-id`)"
                taken = failure("ALREADY_EXISTS", text, "RUN_ALREADY_EXISTS", name)
                context.abort_with_status(rpc_status.to_status(taken))
            self.runs[name] = Run(
                name=name,
                benchmark=request.run.benchmark,
                system=request.run.system,
                options=request.run.options,
                display_name=request.run.display_name,
                state=Run.PENDING,
                revision=1,
            )
            known = self.requests[request.request_id] = name
        # After the run was stored: an answer that is lost must not make a second run.
        self._answer("CreateRun", request, context)
        return self.runs[known]

    def GetRun(self, request, context):
        self._answer("GetRun", request, context)
        return self._find(request.name, context)

    def ListRuns(self, request, context):
        self._answer("ListRuns", request, context)
        runs = sorted(self.runs.values(), key=lambda run: run.name)
        return api.ListRunsResponse(runs=runs[: request.page_size or 50])

    def WatchRun(self, request, context):
        self._answer("WatchRun", request, context)
        run = self._find(request.name, context)
        yield api.WatchRunResponse(run=run)
        for state, stage, done in self.script[run.revision - 1 :]:
            while not self.go_on.wait(0.05):
                if not context.is_active():
                    return
            run.state, run.revision = state, run.revision + 1
            run.progress.CopyFrom(
                Progress(stage=stage, total=7, done=done, rate=20.0, remaining=Duration(seconds=3))
            )
            yield api.WatchRunResponse(run=run)
            if self.drop:
                self.drop -= 1
                context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")

    def CancelRun(self, request, context):
        self._answer("CancelRun", request, context)
        run = self._find(request.name, context)
        run.state = Run.CANCELLED
        return run

    def ResumeRun(self, request, context):
        self._answer("ResumeRun", request, context)
        run = self._find(request.name, context)
        run.state = Run.PENDING
        return run

    def DeleteRun(self, request, context):
        self._answer("DeleteRun", request, context)
        self._find(request.name, context)
        del self.runs[request.name]
        return Empty()

    def ListQueryResults(self, request, context):
        self._answer("ListQueryResults", request, context)
        start = int(request.page_token or 0)
        end = start + min(request.page_size or 50, 2)  # small pages, to see several
        token = str(end) if end < len(self.results) else ""
        return api.ListQueryResultsResponse(
            query_results=self.results[start:end], next_page_token=token
        )

    def GetReport(self, request, context):
        self._answer("GetReport", request, context)
        return Report(
            run=self._find(request.name, context),
            metrics=self.metrics,
            subsets=[SubsetSummary(subset="main", query_count=3, item_count=4)],
            headline_judgement="class",
        )

    def ListBenchmarks(self, request, context):
        self._answer("ListBenchmarks", request, context)
        return api.ListBenchmarksResponse(benchmarks=self.benchmarks)

    def GetBenchmark(self, request, context):
        self._answer("GetBenchmark", request, context)
        for benchmark in self.benchmarks:
            if benchmark.name == request.name:
                if benchmark.state == Benchmark.IMPORTING:
                    benchmark.state = Benchmark.READY
                    benchmark.imported_rows = 7
                    if self.import_error is not None:
                        benchmark.error.CopyFrom(self.import_error)
                return benchmark
        missing = failure("NOT_FOUND", f"{request.name} does not exist", "BENCHMARK_NOT_FOUND")
        context.abort_with_status(rpc_status.to_status(missing))
        raise AssertionError

    def ImportBenchmark(self, request, context):
        self._answer("ImportBenchmark", request, context)
        if self.existing is not None:
            return self.existing
        benchmark = Benchmark(
            name=f"benchmarks/{request.benchmark_id}",
            state=Benchmark.IMPORTING,
            format=request.format,
            source_path=request.path,
        )
        self.benchmarks.append(benchmark)
        return benchmark

    def ListModels(self, request, context):
        self._answer("ListModels", request, context)
        return api.ListModelsResponse(models=self.models)

    def GetModel(self, request, context):
        self._answer("GetModel", request, context)
        return next(model for model in self.models if model.name == request.name)

    def GetCache(self, request, context):
        self._answer("GetCache", request, context)
        return self.cache

    def PruneCache(self, request, context):
        self._answer("PruneCache", request, context)
        self.cache = Cache(name="cache", path=self.cache.path, limit_bytes=20 << 30)
        return api.PruneCacheResponse(
            removed_entry_count=1200, removed_bytes=3 << 20, cache=self.cache
        )


class RunningServer:
    """Serves an evaluator's answers; can be stopped and started again on the same port."""

    def __init__(self, evaluator):
        self.evaluator = evaluator
        self.port = free_port()
        self.target = f"127.0.0.1:{self.port}"
        self._server = None
        self.start()

    def start(self):
        self._server = grpc.server(
            ThreadPoolExecutor(8),
            options=[("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0)],
        )
        add_EvaluationServiceServicer_to_server(self.evaluator, self._server)
        self._server.add_insecure_port(self.target)
        self._server.start()

    def stop(self):
        self._server.stop(grace=0).wait()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture
def server():
    running = RunningServer(CannedEvaluator())
    yield running
    running.evaluator.go_on.set()
    running.evaluator.answer.set()
    running.stop()


@pytest.fixture
def evaluator(server):
    return server.evaluator


@pytest.fixture
def status_with():
    """A function: a google.rpc.Status with ErrorInfo."""
    return failure


@pytest.fixture
def unused_port():
    return free_port()


class Outcome:
    """What a command did."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def lbclient(server, capsys, monkeypatch, tmp_path):
    """A function: runs a command line in this process against the server."""
    monkeypatch.setenv("LOOKBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LBCLIENT_SERVER", raising=False)

    def run(*arguments):
        code = cli.run(["--server", server.target, *arguments])
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def start_lbclient(server, tmp_path):
    """A function: starts a command line as a process of its own."""
    started = []
    environment = {
        **os.environ,
        "LOOKBENCH_HOME": str(tmp_path / "home"),
        "LBCLIENT_SERVER": server.target,
    }

    def start(*arguments, **changes):
        process = subprocess.Popen(
            [sys.executable, "-m", "lbclient", *arguments],
            env={**environment, **changes},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
