"""Health: the service is ready when its store is open; `triton` tells of the models.

Triton being away does not make the evaluator unready, or stored results could
not be read: it has a name of its own. A store that was removed does: what would be
stored from now on would be lost.
"""

import asyncio
from collections.abc import Callable, Collection

import structlog
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as health

from lookbench_core.errors import LookbenchError
from lookbench_evaluator.errors import StoreUnavailable
from lookbench_evaluator.models import ModelCatalog

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
TRITON = "triton"
INTERVAL_S = 2.0
log = structlog.get_logger()


async def mark_ready(servicer: health.HealthServicer, services: Collection[str]) -> None:
    """Sets the overall name, `liveness`, `readiness` and each service to SERVING."""
    for name in ("liveness", *ready_names(services)):
        await servicer.set(name, SERVING)
    await servicer.set(TRITON, NOT_SERVING)


def ready_names(services: Collection[str]) -> tuple[str, ...]:
    """The names that say whether calls may be sent here."""
    return ("", "readiness", *services)


async def watch_store(
    servicer: health.HealthServicer, services: Collection[str], check: Callable[[], None]
) -> None:
    """Keeps the names of readiness true, until cancelled. `check` raises StoreUnavailable."""
    told = ""
    while True:
        await asyncio.sleep(INTERVAL_S)
        problem = await asyncio.to_thread(_problem, check)
        if problem != told:
            log.error("store", problem=problem or "none")
            told = problem
            for name in ready_names(services):
                await servicer.set(name, NOT_SERVING if problem else SERVING)


def _problem(check: Callable[[], None]) -> str:
    try:
        check()
    except StoreUnavailable as error:
        return error.message
    return ""


async def watch_triton(servicer: health.HealthServicer, models: ModelCatalog) -> None:
    """Keeps the name `triton` true, until cancelled."""
    told: str | None = None
    while True:
        problem = await triton_problem(models)
        await servicer.set(TRITON, NOT_SERVING if problem else SERVING)
        if problem != told:
            log.info("triton", problem=problem or "none")
            told = problem
        await asyncio.sleep(INTERVAL_S)


async def triton_problem(models: ModelCatalog) -> str:
    """What keeps runs from starting, or "". Names the models that are missing."""
    try:
        missing = await models.missing()
    except LookbenchError as error:
        return error.message
    except OSError as error:
        return f"cannot read the model repository: {error}"
    return f"not served: {', '.join(missing)}" if missing else ""
