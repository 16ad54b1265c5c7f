"""Errors that are kept with a resource: stored as plain data, told as google.rpc.Status."""

from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2

from lookbench_core.errors import DOMAIN, LookbenchError
from lookbench_evaluator.runs.model import Failure


def failure_of(error: Exception) -> Failure:
    """What is kept of an exception; of an unexpected one its type, not its text."""
    if isinstance(error, LookbenchError):
        return Failure(
            code=error.code,
            reason=error.reason,
            message=error.message,
            metadata=dict(error.metadata),
        )
    return Failure(
        code="INTERNAL",
        reason="INTERNAL",
        message=f"unexpected {type(error).__name__}; the evaluator's log tells more",
    )


def failure_status(failure: Failure) -> status_pb2.Status:
    """The stored error as clients see it, with ErrorInfo."""
    detail = any_pb2.Any()
    detail.Pack(
        error_details_pb2.ErrorInfo(reason=failure.reason, domain=DOMAIN, metadata=failure.metadata)
    )
    return status_pb2.Status(
        code=code_pb2.Code.Value(failure.code), message=failure.message, details=[detail]
    )
