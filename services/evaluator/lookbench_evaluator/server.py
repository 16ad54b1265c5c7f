"""The gRPC server: interceptors, health, reflection, ports, shutdown."""

import asyncio
import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass

import grpc
import structlog
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health
from grpc_reflection.v1alpha import reflection

from lookbench.v1 import evaluation_service_pb2
from lookbench.v1.evaluation_service_pb2_grpc import add_EvaluationServiceServicer_to_server
from lookbench_evaluator.completion_interceptor import CompletionInterceptor
from lookbench_evaluator.error_interceptor import ErrorInterceptor
from lookbench_evaluator.errors import PortInUse
from lookbench_evaluator.health import mark_ready, watch_store, watch_triton
from lookbench_evaluator.models import ModelCatalog
from lookbench_evaluator.servicer import Servicer
from lookbench_evaluator.settings import Settings

# Both directions stay at gRPC's default: a client needs no option to talk to us.
MESSAGE_BYTES = 4 << 20
OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),  # a second server on the port fails instead of sharing it
    # Clients may ping as often as every 10 s, also between calls.
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
)
SERVICE = evaluation_service_pb2.DESCRIPTOR.services_by_name["EvaluationService"].full_name
log = structlog.get_logger()


@dataclass
class Server:
    """A started server; `stop` drains it."""

    api: grpc.aio.Server
    probes: grpc.aio.Server | None
    health: health.HealthServicer
    watching: asyncio.Future[tuple[None, None]]

    async def announce_stop(self) -> None:
        """Turns every health name NOT_SERVING."""
        self.watching.cancel()
        await asyncio.gather(self.watching, return_exceptions=True)
        await self.health.enter_graceful_shutdown()

    async def stop(self, drain_s: float) -> None:
        """Takes no more calls, lets those under way finish for `drain_s` seconds, ends them."""
        await self.api.stop(drain_s)
        if self.probes is not None:
            await self.probes.stop(0)


async def start_server(
    settings: Settings, servicer: Servicer, models: ModelCatalog, check_store: Callable[[], None]
) -> Server:
    """Listens and serves. Raises PortInUse naming the port.

    `check_store` raises StoreUnavailable once the store is gone.
    """
    checks = health.HealthServicer()
    api = grpc.aio.server(
        interceptors=[ErrorInterceptor(), CompletionInterceptor()], options=OPTIONS
    )
    add_EvaluationServiceServicer_to_server(servicer, api)
    health_pb2_grpc.add_HealthServicer_to_server(checks, api)
    names = (SERVICE, health_pb2.DESCRIPTOR.services_by_name["Health"].full_name)
    if settings.reflection:
        reflection.enable_server_reflection((*names, reflection.SERVICE_NAME), api)
    _listen(api, settings.host, settings.port, "--port")
    probes = _probe_server(settings, checks)
    await mark_ready(checks, names)
    await api.start()
    if probes is not None:
        await probes.start()
    watching = asyncio.gather(watch_triton(checks, models), watch_store(checks, names, check_store))
    return Server(api, probes, checks, watching)


def _probe_server(settings: Settings, checks: health.HealthServicer) -> grpc.aio.Server | None:
    if settings.health_port is None:
        return None
    probes = grpc.aio.server(options=OPTIONS)
    health_pb2_grpc.add_HealthServicer_to_server(checks, probes)
    _listen(probes, settings.host, settings.health_port, "--health-port")
    return probes


def _listen(server: grpc.aio.Server, host: str, port: int, flag: str) -> None:
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        _try_to_bind(host, port)
        server.add_insecure_port(address)
    except (OSError, RuntimeError) as error:
        is_taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        step = (
            f"stop the program that uses it, or choose another port with {flag}"
            if is_taken
            else f"choose another with --host and {flag}"
        )
        why = getattr(error, "strerror", None) or error
        text = f"cannot listen on {address}: {why}; {step}"
        raise PortInUse(text, address=address) from error


def _try_to_bind(host: str, port: int) -> None:
    """Raises OSError, which says why; gRPC says only that it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
