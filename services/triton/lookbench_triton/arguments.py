"""Flags of `lookbench-triton`, with their environment variables."""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from lookbench_triton.launcher import LOG_FLAGS
from lookbench_triton.repository import ALL, NONE
from lookbench_triton.settings import (
    LOOPBACK,
    ServeSettings,
    default_install_dir,
    default_of,
    home,
    recorded_http_port,
    variable,
)

DEFAULT_HTTP_PORT = "8000"

EPILOG = (
    "Each flag has an environment variable: LOOKBENCH_TRITON_ and the flag's name, for example "
    f"{variable('--http-port')}. Exit codes: 0 done or stopped, 1 failure, 2 usage."
)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The parsed command line; ends the process with 2 on wrong usage."""
    parser = argparse.ArgumentParser(
        prog="lookbench-triton",
        description="A real Triton Inference Server on the CPU, without a container.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=version("lookbench-services"))
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_directory(commands.add_parser("install", help="fetch, verify and place the server"))
    _add_directory(commands.add_parser("check", help="is the install intact?"))
    _add_serve(commands.add_parser("serve", help="run the server until stopped", epilog=EPILOG))
    for verb in ("load", "unload"):
        _add_control(commands.add_parser(verb, help=f"{verb} a model of a running server"))
    parsed = parser.parse_args(arguments)
    if "install_dir" in parsed:
        parsed.install_dir = parsed.install_dir.absolute()  # messages name it in full
    if "http_port" in parsed and parsed.http_port is None:
        recorded = recorded_http_port() if parsed.host in LOOPBACK else None
        parsed.http_port = recorded or int(DEFAULT_HTTP_PORT)
    return parsed


def serve_settings(parsed: argparse.Namespace) -> ServeSettings:
    """The settings of `serve`."""
    return ServeSettings(
        repository=parsed.repository.absolute(),
        install_dir=parsed.install_dir,
        load=tuple(parsed.load),
        host=parsed.host,
        http_port=parsed.http_port,
        grpc_port=parsed.grpc_port,
        metrics_port=parsed.metrics_port,
        intra_op_threads=parsed.intra_op_threads,
        log_file=parsed.log_file,
        log_level=parsed.log_level,
        log_style=parsed.log_style,
        startup_timeout=parsed.startup_timeout,
        canary_interval=parsed.canary_interval,
        canary_timeout=parsed.canary_timeout,
    )


def _add_directory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dir",
        "--install-dir",
        dest="install_dir",
        type=Path,
        default=default_install_dir(),
        metavar="DIR",
        help="where the server stands (default: %(default)s)",
    )


def _add_host(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default=default_of("--host", "127.0.0.1"), help="%(default)s")


def _add_number(
    parser: argparse.ArgumentParser, flag: str, fallback: str, kind: type, text: str
) -> None:
    default = default_of(flag, fallback) or None
    parser.add_argument(flag, type=kind, default=default, metavar="N", help=text)


def _add_control(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="name of the model's folder in the repository")
    _add_host(parser)
    text = "KServe HTTP (default: the port of the stack recorded in LOOKBENCH_HOME, else 8000)"
    _add_number(parser, "--http-port", "", int, text)


def _add_serve(parser: argparse.ArgumentParser) -> None:
    _add_directory(parser)
    _add_host(parser)
    _add_number(parser, "--http-port", DEFAULT_HTTP_PORT, int, "KServe HTTP (default: %(default)s)")
    parser.add_argument(
        "--repository",
        type=Path,
        default=Path(default_of("--repository", str(home() / "models"))),
        metavar="DIR",
        help="model repository (default: %(default)s)",
    )
    parser.add_argument(
        "--load",
        nargs="+",
        action="extend",
        metavar="NAME",
        help=f"models to load; {ALL}: every folder with a config.pbtxt (default); {NONE}: no model",
    )
    _add_number(parser, "--grpc-port", "8001", int, "KServe gRPC (default: %(default)s)")
    _add_number(parser, "--metrics-port", "8002", int, "Prometheus metrics (default: %(default)s)")
    _add_number(
        parser, "--intra-op-threads", "0", int, "threads per model instance; 0: its share of cores"
    )
    _add_times(parser)
    _add_log(parser)
    parser.add_argument(
        "--print-command", action="store_true", help="print the server's command and end"
    )
    parser.set_defaults(load=None)


def _add_times(parser: argparse.ArgumentParser) -> None:
    defaults = ServeSettings(Path(), Path())
    for flag, fallback, text in (
        ("--startup-timeout", defaults.startup_timeout, "seconds until it must be ready"),
        ("--canary-interval", defaults.canary_interval, "seconds between probes; 0: none"),
        ("--canary-timeout", defaults.canary_timeout, "seconds of silence that are a fault"),
    ):
        _add_number(parser, flag, f"{fallback:g}", float, f"{text} (default: %(default)s)")


def _add_log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--log-file",
        type=Path,
        default=default_of("--log-file", "") or None,
        metavar="FILE",
        help="append the log there instead of stderr",
    )
    parser.add_argument(
        "--log-level", choices=list(LOG_FLAGS), default=default_of("--log-level", "INFO")
    )
    style = "text" if sys.stderr.isatty() else "json"
    parser.add_argument(
        "--log-style", choices=["json", "text"], default=default_of("--log-style", style)
    )
