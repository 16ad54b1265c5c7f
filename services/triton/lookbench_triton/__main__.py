"""The command `lookbench-triton`.

Exit codes: 0 done, or stopped by SIGTERM or Ctrl-C; 1 failure, said on stderr; 2 usage.
LOOKBENCH_TRITON_TRACEBACK=1 shows where an unexpected error arose.
"""

import dataclasses
import importlib.util
import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TextIO

from lookbench_core.errors import LookbenchError
from lookbench_core.logs import configure_logging
from lookbench_triton import layout
from lookbench_triton.arguments import parse, serve_settings
from lookbench_triton.errors import InvalidSetting, NotInstalled
from lookbench_triton.install import install, refresh_backend
from lookbench_triton.launcher import printable, server_command, server_environment
from lookbench_triton.machine import check_machine
from lookbench_triton.ports import resolve_ports
from lookbench_triton.repository import ALL, NONE, select
from lookbench_triton.server_api import ServerApi
from lookbench_triton.settings import LOOPBACK, ServeSettings, default_of
from lookbench_triton.shared_memory import own_prefix
from lookbench_triton.supervisor import Supervisor

TRACEBACK = "LOOKBENCH_TRITON_TRACEBACK"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; the process' exit code. Shows no traceback."""
    try:
        _run(_parse(arguments))
        sys.stdout.flush()
    except LookbenchError as error:
        _complain(f"lookbench-triton: {error.message}")
        return 1
    except KeyboardInterrupt:
        _complain("lookbench-triton: interrupted")
        return 130
    except BrokenPipeError:
        _abandon_stdout()
        return 1
    except Exception as error:
        return _unexpected(error)
    return 0


def _parse(arguments: Sequence[str] | None) -> Namespace:
    try:
        return parse(arguments)
    except SystemExit:
        sys.stdout.flush()  # --help: here a full disk is still a message
        raise


def _run(parsed: Namespace) -> None:
    commands: dict[str, Callable[[Namespace], None]] = {
        "install": _install,
        "check": _check,
        "serve": _serve,
        "load": _load,
        "unload": _unload,
    }
    commands[parsed.command](parsed)


def _unexpected(error: Exception) -> int:
    if os.environ.get(TRACEBACK):
        traceback.print_exc()
    hint = "" if isinstance(error, OSError) else f"; {TRACEBACK}=1 shows where"
    _complain(f"lookbench-triton: {error} ({type(error).__name__}){hint}")
    _abandon_stdout()
    return 1


def _abandon_stdout() -> None:
    """Lets Python's own flush at exit succeed, which would complain once more."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _complain(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _install(parsed: Namespace) -> None:
    fresh = install(parsed.install_dir, _say)
    _say(f"Triton is {'installed' if fresh else 'already installed'} in {parsed.install_dir}")


def _check(parsed: Namespace) -> None:
    check_machine()
    faults = layout.faults(parsed.install_dir)
    if faults:
        listed = "\n".join(f"  {fault}" for fault in faults)
        raise NotInstalled(
            f"The Triton in {parsed.install_dir} is not intact:\n{listed}\n"
            "run: lookbench-triton install"
        )
    server_environment(ServeSettings(parsed.install_dir, parsed.install_dir), os.environ)
    _say(f"Triton in {parsed.install_dir} is intact")


def _load(parsed: Namespace) -> None:
    _api(parsed).load(parsed.model)
    _say(f"'{parsed.model}' is loaded")


def _unload(parsed: Namespace) -> None:
    _api(parsed).unload(parsed.model)
    _say(f"'{parsed.model}' is being unloaded")


def _api(parsed: Namespace) -> ServerApi:
    api = ServerApi(parsed.host, parsed.http_port)
    api.require_repository_control()
    return api


def _serve(parsed: Namespace) -> None:
    if parsed.load is None:
        parsed.load = [name for name in default_of("--load", ALL).split(",") if name]
    settings = serve_settings(parsed)
    models = _prepare(settings)
    if parsed.print_command:
        command = server_command(settings, models, own_prefix())
        _say(printable(command, server_environment(settings, os.environ)))
        return
    settings = _with_ports(settings)
    with _log_stream(settings) as stream:
        configure_logging(settings.log_level, settings.log_style, stream)
        _warn_of_exposure(settings)
        Supervisor(settings, models, _announce(settings)).run()


def _prepare(settings: ServeSettings) -> list[str]:
    """Everything that can be known to be wrong before a process starts; the models to load."""
    check_machine()
    layout.require_installed(settings.install_dir)
    for package in ("numpy", "onnxruntime"):
        if importlib.util.find_spec(package) is None:
            raise NotInstalled(
                f"{package} is missing from {sys.executable}; "
                "run: pip install 'lookbench-services[triton]'"
            )
    refresh_backend(settings.install_dir)
    return select(settings.repository, settings.load)


def _with_ports(settings: ServeSettings) -> ServeSettings:
    ports = resolve_ports(
        settings.host,
        {
            "--http-port": settings.http_port,
            "--grpc-port": settings.grpc_port,
            "--metrics-port": settings.metrics_port,
        },
    )
    http, grpc, metrics = ports.values()
    return dataclasses.replace(settings, http_port=http, grpc_port=grpc, metrics_port=metrics)


def _log_stream(settings: ServeSettings) -> TextIO:
    if settings.log_file is None:
        return open(os.dup(2), "w", encoding="utf-8", buffering=1)  # noqa: PTH123
    try:
        settings.log_file.parent.mkdir(parents=True, exist_ok=True)
        return settings.log_file.open("a", encoding="utf-8", buffering=1)
    except OSError as error:
        raise InvalidSetting(
            f"--log-file {settings.log_file} cannot be written: {error.strerror}",
            field="--log-file",
        ) from None


def _warn_of_exposure(settings: ServeSettings) -> None:
    if settings.host not in LOOPBACK:
        _complain(
            f"lookbench-triton: listening on {settings.host}: whoever reaches these ports can "
            "load and run models; keep them inside a trusted network"
        )


def _announce(settings: ServeSettings) -> Callable[[list[str], dict[str, str]], None]:
    def announce(served: list[str], broken: dict[str, str]) -> None:
        for name, reason in sorted(broken.items()):
            _complain(f"lookbench-triton: model '{name}' is not served: {reason}")
        host = settings.host
        _say(
            f"lookbench-triton is ready: HTTP {host}:{settings.http_port}, "
            f"gRPC {host}:{settings.grpc_port}, metrics {host}:{settings.metrics_port}, "
            f"models: {', '.join(served) or NONE}"
        )

    return announce


if __name__ == "__main__":
    sys.exit(main())
