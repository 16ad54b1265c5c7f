"""A real Triton and a real evaluator of their own, for measurements."""

import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import grpc

from lookbench.v1 import benchmark_pb2, run_pb2
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1.evaluation_service_pb2_grpc import EvaluationServiceStub

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".lookbench"
MODEL = "efficientnet-lite0"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextmanager
def process(command, log, **environment):
    with log.open("w") as out:
        started = subprocess.Popen(
            [sys.executable, "-m", *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=out,
            text=True,
            env={**os.environ, **environment},
        )
    try:
        yield started
    finally:
        started.terminate()
        started.wait(30)
        started.stdout.close()


class Stack:
    """Addresses, and what a measurement asks of the evaluator."""

    def __init__(self, folder, **settings):
        self.folder, self._settings = folder, settings
        self.data = folder / "data"
        self._stack = ExitStack()

    def __enter__(self):
        self.data.mkdir()
        subprocess.run(
            [
                str(ROOT / ".venv/bin/lookbench-export"),
                MODEL,
                "--if-missing",
                "--repository",
                str(HOME / "models"),
            ],
            check=True,
            capture_output=True,
        )
        self._start_triton()
        self._start_evaluator()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _start_triton(self):
        command = ["lookbench_triton", "serve", "--repository", HOME / "models", "--load", MODEL]
        command += ["--dir", HOME / "triton", "--log-file", self.folder / "triton.log"]
        ports = {name: free_port() for name in ("http", "grpc", "metrics")}
        command += [f"--{name}-port={port}" for name, port in ports.items()]
        triton = self._stack.enter_context(process(command, self.folder / "serve.log"))
        assert triton.stdout.readline(), (self.folder / "serve.log").read_text()
        self.triton_url = f"127.0.0.1:{ports['grpc']}"

    def _start_evaluator(self):
        settings = {
            "port": free_port(),
            "triton_url": self.triton_url,
            "model_repository": HOME / "models",
            "store_dir": self.folder / "store",
            "data_roots": self.data,
            **self._settings,
        }
        environment = {f"LOOKBENCH_EVALUATOR_{k.upper()}": str(v) for k, v in settings.items()}
        log = self.folder / "evaluator.log"
        self.evaluator = self._stack.enter_context(
            process(["lookbench_evaluator"], log, **environment)
        )
        channel = grpc.insecure_channel(f"127.0.0.1:{settings['port']}")
        self._stack.enter_context(channel)
        grpc.channel_ready_future(channel).result(30)
        self.stub = EvaluationServiceStub(channel)

    def import_folder(self, name):
        """Imports data/<name>, an image folder, and waits."""
        self.stub.ImportBenchmark(
            api.ImportBenchmarkRequest(benchmark_id=name, format="image-folder", path=name)
        )
        while True:
            found = self.stub.GetBenchmark(api.GetBenchmarkRequest(name=f"benchmarks/{name}"))
            if found.state != benchmark_pb2.Benchmark.IMPORTING:
                assert found.state == benchmark_pb2.Benchmark.READY, found.error.message
                return
            time.sleep(0.2)

    def create(self, benchmark):
        dense = run_pb2.DenseRetriever(query_encoder=run_pb2.Encoder(model=f"models/{MODEL}"))
        run = run_pb2.Run(benchmark=f"benchmarks/{benchmark}", system=run_pb2.System(dense=dense))
        return self.stub.CreateRun(api.CreateRunRequest(run=run))

    def evaluate(self, benchmark):
        """A run at its end, and its seconds by the evaluator's own clock."""
        run = self.create(benchmark)
        for change in self.stub.WatchRun(api.WatchRunRequest(name=run.name)):
            run = change.run
        assert run.state == run_pb2.Run.SUCCEEDED, run.error.message
        seconds = run.end_time.ToNanoseconds() - run.start_time.ToNanoseconds()
        return run, seconds / 1e9
