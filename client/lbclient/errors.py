"""Everything that can go wrong, as one family of exceptions.

    LookbenchClientError
    ├── NotReachable         nothing answers at the address, or the connection was lost
    ├── NoAnswerInTime       a deadline passed, the client's or the server's
    ├── InvalidRequest       a field is wrong; see `field_violations`
    ├── NotFound             no run, benchmark, model or source of that name
    ├── AlreadyExists        the id is taken
    ├── Refused              the state of the resource does not allow it
    ├── Overloaded           queue full, or a message above the size limit
    ├── Unavailable          the server answers but something it needs does not
    ├── NotImplementedYet    the contract has it, this server has not
    ├── ServerFailure        an unexpected failure inside the server
    ├── RunFailed            a run ended in FAILED
    ├── RunCancelled         a run ended in CANCELLED
    ├── Forked               a client was used in a process that inherited an open one
    ├── FetchFailed          data could not be made available on this machine
    └── StackError           the local stack cannot be started, read or stopped

Callers never meet an exception of gRPC: `translated` turns each into the most
specific class above and keeps the original as `__cause__`.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from lookbench_core.errors import DOMAIN


class FieldViolation(NamedTuple):
    """One wrong field of a request."""

    field: str
    description: str


class LookbenchClientError(Exception):
    """The root of every error that this package raises on purpose.

    message: for people. code: name of the gRPC status, or empty for an error
    that arose on this machine. reason: value of `lookbench.v1.ErrorReason`, or
    empty when no LookBench server said it. metadata: the variables of the
    message. retryable: whether the same call may succeed later. retry_delay:
    seconds that the server asks to wait, when it does.
    """

    def __init__(
        self,
        message: str,
        /,
        *,
        code: str = "",
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        retryable: bool = False,
        retry_delay: float | None = None,
        field_violations: tuple[FieldViolation, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.metadata: Mapping[str, str] = dict(metadata or {})
        self.retryable = retryable
        self.retry_delay = retry_delay
        self.field_violations = field_violations


class NotReachable(LookbenchClientError):
    """Nothing answers at the address, or the connection was lost."""


class NoAnswerInTime(LookbenchClientError):
    """A deadline passed, the client's or the server's."""


class InvalidRequest(LookbenchClientError):
    """A field of the request is wrong."""


class NotFound(LookbenchClientError):
    """There is no resource or source of that name."""


class AlreadyExists(LookbenchClientError):
    """The id is taken."""


class Refused(LookbenchClientError):
    """The state of the resource does not allow this."""


class Overloaded(LookbenchClientError):
    """The queue is full, or a message is above the size limit."""


class Unavailable(LookbenchClientError):
    """The server answers, but something it needs does not: Triton, a model, its store."""


class NotImplementedYet(LookbenchClientError):
    """The contract has it, this server has not."""


class ServerFailure(LookbenchClientError):
    """An unexpected failure inside the server."""


class RunFailed(LookbenchClientError):
    """A run ended in FAILED; code, reason and metadata are those of its error."""


class RunCancelled(LookbenchClientError):
    """A run ended in CANCELLED."""


class Forked(LookbenchClientError):
    """A client was used in a process that was forked while one was open."""


class FetchFailed(LookbenchClientError):
    """Data could not be made available on this machine."""


class StackError(LookbenchClientError):
    """The local stack cannot be started, read or stopped."""


_CLASS_OF_CODE: Mapping[str, type[LookbenchClientError]] = {
    "INVALID_ARGUMENT": InvalidRequest,
    "OUT_OF_RANGE": InvalidRequest,
    "NOT_FOUND": NotFound,
    "ALREADY_EXISTS": AlreadyExists,
    "FAILED_PRECONDITION": Refused,
    "ABORTED": Refused,
    "PERMISSION_DENIED": Refused,
    "UNAUTHENTICATED": Refused,
    "RESOURCE_EXHAUSTED": Overloaded,
    "UNAVAILABLE": Unavailable,
    "DEADLINE_EXCEEDED": NoAnswerInTime,
    "UNIMPLEMENTED": NotImplementedYet,
}

# Codes with which the transport, not a LookBench server, reports a lost connection.
_LOST_CODES = frozenset({"UNAVAILABLE", "CANCELLED", "INTERNAL", "UNKNOWN"})


class _Details(NamedTuple):
    reason: str
    metadata: dict[str, str]
    violations: tuple[FieldViolation, ...]
    retry_delay: float | None


def _read_details(details: Iterable[AnyMessage]) -> _Details:
    info = error_details_pb2.ErrorInfo()
    bad = error_details_pb2.BadRequest()
    retry = error_details_pb2.RetryInfo()
    request = error_details_pb2.RequestInfo()
    seen = {
        message.DESCRIPTOR.full_name
        for detail in details
        for message in (info, bad, retry, request)
        if detail.Unpack(message)
    }
    metadata = dict(info.metadata)
    if request.request_id:
        metadata.setdefault("request_id", request.request_id)
    violations = tuple(FieldViolation(v.field, v.description) for v in bad.field_violations)
    delay = retry.retry_delay.ToNanoseconds() / 1e9 if "google.rpc.RetryInfo" in seen else None
    reason = info.reason if info.domain == DOMAIN else ""
    return _Details(reason, metadata, violations, delay)


def error_from_status(
    status: status_pb2.Status, kind: type[LookbenchClientError] | None = None
) -> LookbenchClientError:
    """The exception for a `google.rpc.Status`, of class `kind` when given."""
    code = _code_name(status.code)
    details = _read_details(status.details)
    chosen = kind or _CLASS_OF_CODE.get(code, ServerFailure)
    return chosen(
        status.message,
        code=code,
        reason=details.reason,
        metadata=details.metadata,
        retryable=code == "UNAVAILABLE" or details.retry_delay is not None,
        retry_delay=details.retry_delay,
        field_violations=details.violations,
    )


def is_connection_loss(error: LookbenchClientError) -> bool:
    """Whether the connection broke, as opposed to a server that answered with an error."""
    return isinstance(error, NotReachable) or (error.code in _LOST_CODES and not error.reason)


def _code_name(number: int) -> str:
    try:
        return str(code_pb2.Code.Name(number))
    except ValueError:
        return "UNKNOWN"


def _status_of(error: grpc.RpcError) -> status_pb2.Status:
    """The rich status when the server sent one, else code and text alone."""
    try:
        rich = rpc_status.from_call(error)
    except ValueError:  # the two parts of the answer disagree: trust the plain one
        rich = None
    number = error.code().value[0]
    return rich or status_pb2.Status(code=number, message=error.details() or "")


def error_from_rpc(error: grpc.RpcError, target: str) -> LookbenchClientError:
    """The exception for a failed call to `target`."""
    result = error_from_status(_status_of(error))
    if result.reason:
        return result
    return _transport_error(result, target)


def _transport_error(error: LookbenchClientError, target: str) -> LookbenchClientError:
    """Says in our own words what gRPC itself reported."""
    metadata = {"target": target, "detail": error.message}
    if error.code == "UNAVAILABLE":
        text = f"nothing answers at {target} ({_last_cause(error.message)})"
        return NotReachable(text, code=error.code, metadata=metadata, retryable=True)
    if error.code == "DEADLINE_EXCEEDED":
        text = f"no answer from {target} in time; raise the client's timeout or look at its log"
        return NoAnswerInTime(text, code=error.code, metadata=metadata)
    if error.code == "RESOURCE_EXHAUSTED" and "larger than max" in error.message:
        text = f"{error.message}; ask for smaller pages or raise max_message_bytes"
        return Overloaded(text, code=error.code, metadata=metadata)
    if error.code == "UNIMPLEMENTED":
        text = f"{target} answers, but is not a LookBench evaluator of this version"
        return NotImplementedYet(text, code=error.code, metadata=metadata)
    text = f"{target}: {error.message or error.code}"
    return type(error)(text, code=error.code, metadata=metadata, retryable=error.retryable)


def _last_cause(details: str) -> str:
    """The readable end of gRPC's nested connection messages."""
    for mark in ("Failed to connect to remote host: ", "last error: "):
        if mark in details:
            return details.rsplit(mark, 1)[1]
    return details or "connection lost"


@contextmanager
def translated(target: str) -> Iterator[None]:
    """Turns every error of gRPC in the block into a LookbenchClientError."""
    try:
        yield
    except grpc.RpcError as error:
        raise error_from_rpc(error, target) from error
    except grpc.aio.UsageError as error:
        raise LookbenchClientError(f"{target}: the client is closed") from error
