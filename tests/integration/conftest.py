"""Real servers for the integration tests."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fake_triton import FakeTriton

ROOT = Path(__file__).parents[2]


@dataclass
class EmbeddedTriton:
    """A running `lookbench-triton serve`, and where it listens."""

    process: subprocess.Popen
    http_url: str
    grpc_url: str
    log_file: Path

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(20)
        self.process.stdout.close()
        return code


@pytest.fixture(scope="session")
def triton_install() -> Path:
    """Folder of an intact install; made when there is none."""
    default = ROOT / ".lookbench" / "triton"
    folder = Path(os.environ.get("LOOKBENCH_TRITON_INSTALL_DIR") or default)
    command = [sys.executable, "-m", "lookbench_triton", "install", "--dir", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def embedded_triton(
    triton_install: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., EmbeddedTriton]]:
    """Starts a server on free ports: `embedded_triton(repository, *more_flags)`."""
    started: list[EmbeddedTriton] = []

    def start(repository: Path, *flags: str) -> EmbeddedTriton:
        log_file = tmp_path_factory.mktemp("triton") / "triton.log"
        command = [sys.executable, "-m", "lookbench_triton", "serve"]
        command += ["--repository", str(repository), "--dir", str(triton_install)]
        command += ["--http-port=0", "--grpc-port=0", "--metrics-port=0"]
        command += ["--log-file", str(log_file), *flags]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = process.stdout.readline()  # ready, or the end of a server that failed
        assert line, log_file.read_text() if log_file.exists() else "no log"
        addresses = dict(part.rsplit(" ", 2)[-2:] for part in line.split(", ")[:2])
        server = EmbeddedTriton(process, addresses["HTTP"], addresses["gRPC"], log_file)
        started.append(server)
        return server

    yield start
    for server in started:
        if not server.process.stdout.closed:
            server.stop()


@pytest.fixture
def fake_triton() -> Iterator[Callable[..., FakeTriton]]:
    """Starts servers that misbehave on demand: `fake_triton(models=None, port=0)`."""
    started: list[FakeTriton] = []

    def start(**options: object) -> FakeTriton:
        server = FakeTriton(**options)
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()
