"""A Triton that can be killed whole or in part, a benchmark of some seconds, and a seed."""

import os
import random
import signal
import subprocess
import sys
from dataclasses import dataclass

import psutil
import pytest
from tritonclient.grpc import InferenceServerClient

from asking import MODEL, free_port

QUERIES, ITEMS = 60, 900
ROWS = QUERIES + ITEMS
SHARD_ROWS = 32


@pytest.fixture(scope="session")
def seed():
    """LOOKBENCH_TEST_SEED, or a new one; printed, so that points can be drawn again."""
    value = int(os.environ.get("LOOKBENCH_TEST_SEED") or random.randrange(10**6))
    print(f"\nLOOKBENCH_TEST_SEED={value}")
    return value


@pytest.fixture
def draw(seed, request):
    """Random numbers of this test alone."""
    return random.Random(f"{seed} {request.node.name}")


@dataclass
class KillableTriton:
    """A `lookbench-triton serve` on ports that stay the same from start to start."""

    command: list[str]
    grpc_port: int
    process: subprocess.Popen | None = None

    @property
    def grpc_url(self):
        return f"127.0.0.1:{self.grpc_port}"

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline(), "Triton did not start"

    def kill_server(self):
        """SIGKILL of the server alone: its supervisor starts another."""
        for child in psutil.Process(self.process.pid).children(recursive=True):
            if child.name().startswith("tritonserver"):
                child.kill()

    def kill_all(self):
        """SIGKILL of everything at once, as when the machine's memory is full."""
        root = psutil.Process(self.process.pid)
        for process in [root, *root.children(recursive=True)]:
            process.kill()
        self.process.wait(10)
        self.process.stdout.close()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)
            self.process.stdout.close()

    def rows(self):
        """Rows that this server has embedded since it started."""
        with InferenceServerClient(self.grpc_url) as client:
            (stats,) = client.get_inference_statistics(MODEL).model_stats
        return stats.inference_count


@pytest.fixture(scope="session")
def killable_triton(triton_install, models, tmp_path_factory):
    grpc_port = free_port()
    command = [sys.executable, "-m", "lookbench_triton", "serve", "--load", MODEL]
    command += ["--repository", str(models), "--dir", str(triton_install)]
    command += [f"--grpc-port={grpc_port}", "--http-port=0", "--metrics-port=0"]
    command += ["--log-file", str(tmp_path_factory.mktemp("triton") / "triton.log")]
    server = KillableTriton(command, grpc_port)
    server.start()
    yield server
    server.stop()
