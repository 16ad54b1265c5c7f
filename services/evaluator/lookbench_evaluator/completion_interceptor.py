"""An accepted call is carried to its end, whether or not its caller still waits.

gRPC cancels the handler when a client hangs up. Between the commit of a run and
the moment it is queued that would leave a run which nobody executes.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc


class CompletionInterceptor(grpc.aio.ServerInterceptor):
    """Keeps unary calls going. Streams end with their caller: they only watch."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[Any]] = set()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Returns the handler, its call shielded."""
        handler = await continuation(handler_call_details)
        if handler is None or handler.request_streaming or handler.response_streaming:
            return handler

        async def shielded(request: Any, context: Any) -> Any:
            task = asyncio.ensure_future(handler.unary_unary(request, context))
            self._under_way.add(task)
            task.add_done_callback(self._ended)
            return await asyncio.shield(task)

        return grpc.unary_unary_rpc_method_handler(
            shielded, handler.request_deserializer, handler.response_serializer
        )

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # seen: the caller who should hear of it may be gone
