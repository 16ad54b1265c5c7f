"""The server's command line and environment, as pure functions of the settings."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lookbench_triton.errors import NotInstalled
from lookbench_triton.layout import BACKENDS, LIBRARIES, SERVER
from lookbench_triton.libpython import find_libpython, needs_libpython
from lookbench_triton.machine import python_tag
from lookbench_triton.settings import ServeSettings, variable

EXIT_TIMEOUT_S = 5
LOG_FLAGS = {
    "DEBUG": ["--log-verbose=1"],
    "INFO": [],
    "WARNING": ["--log-info=false"],
    "ERROR": ["--log-info=false", "--log-warning=false"],
}


def server_command(settings: ServeSettings, models: Sequence[str], shm_prefix: str) -> list[str]:
    """Tritonserver and its flags; `models` are loaded at start."""
    host, install_dir = settings.host, settings.install_dir.absolute()
    return [
        str(install_dir / SERVER),
        f"--model-repository={settings.repository.absolute()}",
        f"--backend-directory={install_dir / BACKENDS}",
        "--model-control-mode=explicit",
        *[f"--load-model={name}" for name in models],
        f"--http-address={host}",
        f"--http-port={settings.http_port}",
        "--http-thread-count=2",
        f"--grpc-address={host}",
        f"--grpc-port={settings.grpc_port}",
        f"--metrics-address={host}",
        f"--metrics-port={settings.metrics_port}",
        "--allow-gpu-metrics=false",
        "--pinned-memory-pool-byte-size=0",
        f"--backend-config=python,shm-region-prefix-name={shm_prefix}",
        # A model that fails to load neither ends the server nor makes it unready:
        # each model's own readiness says what can be used.
        "--exit-on-error=false",
        "--strict-readiness=false",
        f"--exit-timeout-secs={EXIT_TIMEOUT_S}",
        *LOG_FLAGS[settings.log_level],
    ]


def server_environment(settings: ServeSettings, base: Mapping[str, str]) -> dict[str, str]:
    """`base` with what the server and its Python stubs need. Raises NotInstalled.

    The stub finds this Python and its packages by the first `python3` on PATH.
    """
    install_dir = settings.install_dir.absolute()
    libraries = [str(install_dir / LIBRARIES)]
    tag = python_tag()
    if needs_libpython(tag):
        libraries.insert(0, str(_libpython(tag, install_dir)))
    if base.get("LD_LIBRARY_PATH"):
        libraries.append(base["LD_LIBRARY_PATH"])
    environment = {name: value for name, value in base.items() if name != "PYTHONHOME"}
    environment.update(
        PATH=os.pathsep.join([str(_python_folder()), base.get("PATH", os.defpath)]),
        LD_LIBRARY_PATH=os.pathsep.join(libraries),
        CUDA_VISIBLE_DEVICES="",  # the same behaviour on machines with a GPU
    )
    if settings.intra_op_threads:
        environment[variable("--intra-op-threads")] = str(settings.intra_op_threads)
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy only copies in the stub
    return environment


def _libpython(tag: str, install_dir: Path) -> Path:
    folder = find_libpython(tag, install_dir)
    if folder is None:
        raise NotInstalled(
            f"libpython{tag}, which the server's Python stub needs, is missing; "
            "run: lookbench-triton install",
            python=tag,
        )
    return folder.absolute()


def _python_folder() -> Path:
    folder = Path(sys.executable).absolute().parent
    if not (folder / "python3").exists():
        raise NotInstalled(
            f"{folder} holds no python3, by which the server's stub finds {sys.executable}; "
            "use a virtual environment: python3 -m venv .venv",
            folder=folder,
        )
    return folder


def printable(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The command with the variables that matter, ready for a shell."""
    names = ("PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "OPENBLAS_NUM_THREADS")
    chosen = [*names, variable("--intra-op-threads")]
    variables = [f"{n}={shlex.quote(environment[n])}" for n in chosen if n in environment]
    return " \\\n  ".join([*variables, *map(shlex.quote, command)])
