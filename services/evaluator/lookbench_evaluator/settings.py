"""Settings of the evaluator: the one reader of its environment and flags."""

import os
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from lookbench_inference.endpoints import SharedMemory, addresses


class Settings(BaseSettings):
    """Evaluates retrieval systems served by Triton, over gRPC.

    Every option is also the environment variable LOOKBENCH_EVALUATOR_<NAME>. HOME is
    LOOKBENCH_HOME, or .lookbench in the current folder.
    """

    model_config = SettingsConfigDict(
        env_prefix="LOOKBENCH_EVALUATOR_",
        cli_kebab_case=True,
        cli_prog_name="lookbench-evaluator",
        cli_implicit_flags=True,
        cli_hide_none_type=True,
        frozen=True,
    )

    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8090, ge=1, le=65535, description="port of the API")
    health_port: int | None = Field(
        None,
        ge=1,
        le=65535,
        description="port that serves only health, without a token; off when not set",
    )
    insecure: bool = Field(
        False, description="listen on an address other than loopback without TLS"
    )
    reflection: bool = Field(True, description="serve gRPC reflection")
    triton_url: str = Field(
        "127.0.0.1:8001",
        description="Triton's gRPC address, or several separated by commas, which share the "
        "requests; dns:///NAME:PORT means all addresses of a name",
    )
    triton_patience_s: float = Field(
        60.0,
        ge=0,
        description="seconds that a run waits for Triton and its models to be ready, at its "
        "start and whenever all servers are away",
    )
    shared_memory: SharedMemory = Field(
        "auto",
        description="whether inputs travel through /dev/shm to a Triton on this host: auto where "
        "it works, on refuses runs where it does not, off never",
    )
    model_repository: Path = Field(
        default_factory=lambda: home() / "models",
        description="Triton's repository, for the model manifests [default: HOME/models]",
    )
    data_roots: Annotated[tuple[Path, ...], NoDecode] = Field(
        default_factory=lambda: (home() / "data",),
        min_length=1,
        description="folders that imports may read, separated by ':' [default: HOME/data]",
    )
    store_dir: Path = Field(
        default_factory=lambda: home() / "evaluator",
        description="folder of runs, results and benchmarks [default: HOME/evaluator]",
    )
    cache_dir: Path | None = Field(
        None,
        description="folder of embeddings kept for later runs [default: STORE_DIR/cache]",
    )
    cache_bytes: int = Field(
        20 << 30, ge=0, description="most bytes of embeddings kept for later runs; 0 keeps none"
    )
    concurrent_runs: int = Field(2, ge=1, description="runs executed at once")
    queue_limit: int = Field(1000, ge=1, description="runs that may wait")
    caller_queue_limit: int = Field(500, ge=1, description="runs of one caller that may wait")
    shard_rows: int = Field(
        256, ge=1, description="rows that are embedded and committed together; a crash loses two"
    )
    in_flight: int = Field(
        4, ge=1, description="requests to one model under way at once, at all servers together"
    )
    request_bytes: int = Field(4 << 20, ge=1 << 10, description="tensor bytes of one request")
    request_timeout_s: float = Field(60.0, gt=0, description="deadline of one request, seconds")
    run_timeout_s: float = Field(24 * 3600.0, gt=0, description="deadline of one run, seconds")
    self_check: bool = Field(
        True,
        description="compare a model's rows alone, in a batch and at once before its first run",
    )
    workers: int = Field(
        os.cpu_count() or 1, ge=1, description="threads that decode images and tokenise"
    )
    max_pixels: int = Field(178_956_970, ge=1, description="largest image, in pixels")
    drain_s: float = Field(10.0, ge=0, description="seconds that calls may finish at shutdown")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="log level")
    log_style: Literal["json", "text"] = Field("json", description="form of log lines")

    @property
    def cache_folder(self) -> Path:
        """Where embeddings are kept: beside the store unless chosen, so it is writable as well."""
        return self.cache_dir or self.store_dir / "cache"

    @field_validator("data_roots", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(Path(part) for part in value.split(os.pathsep) if part)
        return value

    @field_validator("triton_url")
    @classmethod
    def _addresses(cls, value: str) -> str:
        addresses(value)
        return value

    @model_validator(mode="after")
    def _loopback_unless_insecure(self) -> "Settings":
        if not self.insecure and not is_loopback(self.host):
            raise ValueError(
                f"host {self.host} is not loopback and there is no TLS; "
                "set insecure (LOOKBENCH_EVALUATOR_INSECURE=true) if that is intended"
            )
        return self


def home() -> Path:
    """The folder of the local stack."""
    return Path(os.environ.get("LOOKBENCH_HOME") or ".lookbench")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
