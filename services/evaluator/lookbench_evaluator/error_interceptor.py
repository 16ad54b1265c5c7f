"""The only place where an exception becomes a gRPC status.

Ours carry ErrorInfo and the detail that fits them. Anything else becomes
INTERNAL with the request's id; its traceback goes to the log, never to the caller.
"""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NoReturn

import grpc
import structlog
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from lookbench_core.errors import DOMAIN, LookbenchError
from lookbench_evaluator.errors import AlreadyExists, InvalidField, NotFound

REQUEST_ID_KEY = "x-request-id"
RETRY_DELAY_S = 1
# A status travels in HTTP/2 headers of at most 16 KiB: the message percent-encoded, thrice its
# bytes at worst, and the details in base64.
MAX_VALUE_BYTES = 300
MAX_MESSAGE_BYTES = 1500
MAX_VARIABLES = 12

log = structlog.get_logger()
Details = list[Message]


class ErrorInterceptor(grpc.aio.ServerInterceptor):
    """Wraps every handler, unary and streaming."""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Returns the handler, guarded."""
        handler = await continuation(handler_call_details)
        if handler is None or handler.request_streaming:
            return handler
        method = handler_call_details.method
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(
                _guarded_stream(handler.unary_stream, method),
                handler.request_deserializer,
                handler.response_serializer,
            )
        return grpc.unary_unary_rpc_method_handler(
            _guarded(handler.unary_unary, method),
            handler.request_deserializer,
            handler.response_serializer,
        )


def _guarded(call: Callable[..., Awaitable[Any]], method: str) -> Callable[..., Awaitable[Any]]:
    async def guarded(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        request_id = _begin(context, method)
        try:
            return await call(request, context)
        except Exception as error:
            await _abort(error, request_id, context)

    return guarded


def _guarded_stream(
    call: Callable[..., AsyncIterator[Any]], method: str
) -> Callable[..., AsyncIterator[Any]]:
    async def guarded(
        request: Any, context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[Any]:
        request_id = _begin(context, method)
        try:
            async for message in call(request, context):
                yield message
        except Exception as error:
            await _abort(error, request_id, context)

    return guarded


def _begin(context: grpc.aio.ServicerContext[Any, Any], method: str) -> str:
    """Binds the caller's request id, or a new one, to the log lines of this call."""
    metadata = dict(context.invocation_metadata() or ())
    given = str(metadata.get(REQUEST_ID_KEY, ""))[:64]
    request_id = given or uuid.uuid4().hex
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=request_id, method=method)
    return request_id


async def _abort(
    error: Exception, request_id: str, context: grpc.aio.ServicerContext[Any, Any]
) -> NoReturn:
    if isinstance(error, grpc.aio.AbortError):
        raise error
    if isinstance(error, LookbenchError):
        log.info("refused", code=error.code, reason=error.reason, message=error.message)
    else:
        log.error("unexpected", exc_info=error)
    status = rpc_status.to_status(status_of(error, request_id))
    await context.abort_with_status(status)


def status_of(error: Exception, request_id: str = "") -> status_pb2.Status:
    """The google.rpc.Status of an exception; that of an unexpected one tells nothing of it."""
    if isinstance(error, LookbenchError):
        return status_pb2.Status(
            code=code_pb2.Code.Value(error.code),
            message=_cut(error.message, MAX_MESSAGE_BYTES),
            details=[_packed(detail) for detail in _details(error)],
        )
    info = error_details_pb2.ErrorInfo(
        reason="INTERNAL", domain=DOMAIN, metadata={"request_id": request_id}
    )
    request = error_details_pb2.RequestInfo(request_id=request_id)
    return status_pb2.Status(
        code=code_pb2.INTERNAL,
        message=f"unexpected error; the evaluator's log tells more under request {request_id}",
        details=[_packed(info), _packed(request)],
    )


def _details(error: LookbenchError) -> Details:
    variables = list(error.metadata.items())[:MAX_VARIABLES]
    metadata = {key: _cut(value) for key, value in variables}
    details: Details = [
        error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=metadata)
    ]
    if isinstance(error, InvalidField):
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=error.field, description=_cut(error.problem), reason=error.reason
        )
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    elif isinstance(error, NotFound | AlreadyExists):
        details.append(
            error_details_pb2.ResourceInfo(
                resource_type=error.resource_type,
                resource_name=_cut(error.resource_name),
                description=_cut(error.message),
            )
        )
    elif error.code == "FAILED_PRECONDITION":
        precondition = error_details_pb2.PreconditionFailure.Violation(
            type=error.reason,
            subject=metadata.get("name", ""),
            description=_cut(error.message),
        )
        details.append(error_details_pb2.PreconditionFailure(violations=[precondition]))
    elif error.retryable:
        delay = duration_pb2.Duration(seconds=RETRY_DELAY_S)
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    return details


def _cut(text: str, limit: int = MAX_VALUE_BYTES) -> str:
    encoded = text.encode(errors="replace")
    if len(encoded) <= limit:
        return text
    return encoded[:limit].decode(errors="ignore") + "…"


def _packed(message: Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
