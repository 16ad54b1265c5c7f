"""A whole stack: both models exported, a real Triton, a real evaluator process."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest

from asking import MODEL, free_port, make_folder
from lookbench.v1 import benchmark_pb2, run_pb2
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1.evaluation_service_pb2_grpc import EvaluationServiceStub

ROOT = Path(__file__).parents[3]
SHARED = Path(os.environ.get("LOOKBENCH_SHARED_DATA") or ROOT.parent / "shared" / "data")
FASHION_MNIST = [
    Path("/usr/share/datasets/fashion-mnist"),
    ROOT / ".lookbench/data/fashion-mnist",
]


@dataclass
class Evaluator:
    """An evaluator process that can be stopped, killed and started again on its store."""

    environment: dict[str, str]
    port: int
    log_file: Path
    process: subprocess.Popen | None = None
    channel: grpc.Channel | None = None
    stub: EvaluationServiceStub = field(init=False)

    def start(self) -> None:
        with self.log_file.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lookbench_evaluator"],
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=log,
            )
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.port}")
        ready = grpc.channel_ready_future(self.channel)
        while not ready.done():
            assert self.process.poll() is None, self.log_file.read_text()
            time.sleep(0.05)
        self.stub = EvaluationServiceStub(self.channel)

    def end(self, *, kill: bool = False) -> int:
        self.channel.close()
        self.process.kill() if kill else self.process.terminate()
        return self.process.wait(20)

    def import_benchmark(
        self, name: str, source_format: str, path: Path, **options: str
    ) -> benchmark_pb2.Benchmark:
        request = api.ImportBenchmarkRequest(
            benchmark_id=name, format=source_format, path=str(path), options=options
        )
        self.stub.ImportBenchmark(request)
        return self.imported(name)

    def imported(self, name: str) -> benchmark_pb2.Benchmark:
        kind = benchmark_pb2.Benchmark
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = self.stub.GetBenchmark(api.GetBenchmarkRequest(name=f"benchmarks/{name}"))
            if found.state != kind.IMPORTING:
                return found
            time.sleep(0.1)
        raise TimeoutError(name)

    def create(self, benchmark: str, model: str, **fields: object) -> run_pb2.Run:
        """A run of one model on both sides; `fields` are those of the request or the run."""
        about = {k: fields.pop(k) for k in ("run_id", "request_id") if k in fields}
        dense = run_pb2.DenseRetriever(query_encoder=run_pb2.Encoder(model=f"models/{model}"))
        run = run_pb2.Run(
            benchmark=f"benchmarks/{benchmark}", system=run_pb2.System(dense=dense), **fields
        )
        return self.stub.CreateRun(api.CreateRunRequest(run=run, **about))

    def wait(self, run: run_pb2.Run) -> run_pb2.Run:
        last = run
        for change in self.stub.WatchRun(api.WatchRunRequest(name=run.name), timeout=180):
            last = change.run
        return last

    def report(self, run: run_pb2.Run) -> run_pb2.Report:
        return self.stub.GetReport(api.GetReportRequest(name=run.name))

    def evaluate(self, benchmark: str, model: str, **fields: object) -> run_pb2.Report:
        run = self.wait(self.create(benchmark, model, **fields))
        assert run.state == run_pb2.Run.SUCCEEDED, run.error.message
        return self.report(run)


@pytest.fixture(scope="session")
def models() -> Path:
    """The repository with both models, exported when they are not there yet."""
    repository = ROOT / ".lookbench/models"
    for family in ("efficientnet-lite0", "sentence"):
        command = [sys.executable, "-m", "lookbench_exporter", family, "--if-missing"]
        command += ["--repository", str(repository)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return repository


@pytest.fixture(scope="session")
def triton(embedded_triton, models):
    return embedded_triton(models)


@pytest.fixture(scope="session")
def data_root(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="session")
def fashion_mnist() -> Path:
    for folder in FASHION_MNIST:
        if folder.is_dir():
            return folder
    pytest.skip("Fashion-MNIST is absent: apt-get install dataset-fashion-mnist")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    if not SHARED.is_dir():
        pytest.skip(f"the shared data is absent: set LOOKBENCH_SHARED_DATA ({SHARED})")
    return SHARED


@pytest.fixture(scope="session")
def make_evaluator(models, data_root, tmp_path_factory) -> Iterator[Callable[..., Evaluator]]:
    """Starts evaluators with stores of their own: `make_evaluator(triton_url, **settings)`."""
    made: list[Evaluator] = []

    def make(triton_url: str, **settings: object) -> Evaluator:
        port, folder = free_port(), tmp_path_factory.mktemp("evaluator")
        roots = [str(data_root), str(SHARED), *map(str, FASHION_MNIST)]
        fixed = {
            "port": port,
            "triton_url": triton_url,
            "model_repository": models,
            "store_dir": folder / "store",
            "data_roots": os.pathsep.join(roots),
            "log_style": "text",
            **settings,
        }
        environment = {f"LOOKBENCH_EVALUATOR_{k.upper()}": str(v) for k, v in fixed.items()}
        evaluator = Evaluator(environment, port, folder / "evaluator.log")
        made.append(evaluator)
        evaluator.start()
        return evaluator

    yield make
    for evaluator in made:
        if evaluator.process is not None and evaluator.process.poll() is None:
            evaluator.end()


@pytest.fixture(scope="session")
def evaluator(make_evaluator, triton) -> Evaluator:
    return make_evaluator(triton.grpc_url)


@pytest.fixture(scope="session")
def shades(evaluator, data_root):
    """Six items and three queries of two categories."""
    rows = [(f"i{n}", "item", "dark" if n < 3 else "light") for n in range(6)]
    rows += [(f"q{n}", "query", "dark" if n < 2 else "light") for n in range(3)]
    found = evaluator.import_benchmark(
        "shades", "image-folder", make_folder(data_root / "shades", rows)
    )
    assert found.state == benchmark_pb2.Benchmark.READY, found.error.message
    return "shades"


@pytest.fixture(scope="session")
def finished(evaluator, shades):
    run = evaluator.wait(evaluator.create(shades, MODEL))
    assert run.state == run_pb2.Run.SUCCEEDED, run.error.message
    return run
