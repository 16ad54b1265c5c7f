"""The settings of `lookbench-triton`; the only reader of its environment variables.

Each flag `--some-name` has a variable LOOKBENCH_TRITON_SOME_NAME; the flag wins.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

LogStyle = Literal["json", "text"]
PREFIX = "LOOKBENCH_TRITON_"
LOOPBACK = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class ServeSettings:
    """Everything that `serve` needs. Times in seconds."""

    repository: Path
    install_dir: Path
    load: tuple[str, ...] = ("all",)
    host: str = "127.0.0.1"
    http_port: int = 8000
    grpc_port: int = 8001
    metrics_port: int = 8002
    intra_op_threads: int = 0
    """Per model instance; 0 leaves the choice to the backend: cores / instances."""
    log_file: Path | None = None
    log_level: str = "INFO"
    log_style: LogStyle = "json"
    startup_timeout: float = 300.0
    canary_interval: float = 5.0
    """0 turns the canary off; dead processes are noticed all the same."""
    canary_timeout: float = 120.0
    """Generous: one batch of a large model on a small machine takes a minute."""
    stop_grace: float = 8.0
    """From SIGTERM to SIGKILL; Triton itself waits 5 s for requests in flight."""

    @property
    def contact_host(self) -> str:
        """Where this machine reaches the server."""
        return "127.0.0.1" if self.host in ("", "0.0.0.0") else self.host  # noqa: S104


def variable(flag: str) -> str:
    """Environment variable of a flag: `--http-port` → LOOKBENCH_TRITON_HTTP_PORT."""
    return PREFIX + flag.removeprefix("--").replace("-", "_").upper()


def default_of(flag: str, fallback: str, environment: Mapping[str, str] = os.environ) -> str:
    """The variable's value where it is set and not empty, else `fallback`."""
    return environment.get(variable(flag)) or fallback


def home(environment: Mapping[str, str] = os.environ) -> Path:
    """$LOOKBENCH_HOME, by default `.lookbench` in the current folder."""
    return Path(environment.get("LOOKBENCH_HOME") or ".lookbench")


def default_install_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """$LOOKBENCH_TRITON_INSTALL_DIR, by default $LOOKBENCH_HOME/triton."""
    return Path(environment.get(variable("--install-dir")) or home(environment) / "triton")


def recorded_http_port(environment: Mapping[str, str] = os.environ) -> int | None:
    """Triton's HTTP port in $LOOKBENCH_HOME/stack.json, where `lbclient up` records its stack.

    None without a record that names one: what cannot be read is no record.
    """
    try:
        port = json.loads((home(environment) / "stack.json").read_bytes())["ports"]["triton_http"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return port if isinstance(port, int) else None
