"""Health: the service is ready when its store is open; `triton` tells of the models.

Triton being away does not make the evaluator unready, or stored results could
not be read: it has a name of its own.
"""

import asyncio
from collections.abc import Iterable

import structlog
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as health

from lookbench_core.errors import LookbenchError
from lookbench_evaluator.models import ModelCatalog

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
TRITON = "triton"
INTERVAL_S = 2.0
log = structlog.get_logger()


async def mark_ready(servicer: health.HealthServicer, services: Iterable[str]) -> None:
    """Sets the overall name, `liveness`, `readiness` and each service to SERVING."""
    for name in ("", "liveness", "readiness", *services):
        await servicer.set(name, SERVING)
    await servicer.set(TRITON, NOT_SERVING)


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
