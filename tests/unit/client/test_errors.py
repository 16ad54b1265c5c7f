"""Statuses of gRPC become exceptions of ours."""

import grpc
import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2 as details
from google.rpc import status_pb2
from google.rpc.code_pb2 import Code
from grpc_status import rpc_status

from lbclient import errors
from lookbench_core.errors import DOMAIN


def packed(*messages):
    result = []
    for message in messages:
        detail = Any()
        detail.Pack(message)
        result.append(detail)
    return result


def status(code, message="text", *messages):
    return status_pb2.Status(code=Code.Value(code), message=message, details=packed(*messages))


def info(reason, **metadata):
    return details.ErrorInfo(reason=reason, domain=DOMAIN, metadata=metadata)


class FailedCall(grpc.RpcError):
    """As grpc raises it, with or without a rich status in the trailing metadata."""

    def __init__(self, code, text, rich=None):
        self._code = getattr(grpc.StatusCode, code)
        self._text = text
        self._metadata = rpc_status.to_status(rich).trailing_metadata if rich else ()

    def code(self):
        return self._code

    def details(self):
        return self._text

    def trailing_metadata(self):
        return self._metadata


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("INVALID_ARGUMENT", errors.InvalidRequest),
        ("NOT_FOUND", errors.NotFound),
        ("ALREADY_EXISTS", errors.AlreadyExists),
        ("FAILED_PRECONDITION", errors.Refused),
        ("ABORTED", errors.Refused),
        ("RESOURCE_EXHAUSTED", errors.Overloaded),
        ("UNAVAILABLE", errors.Unavailable),
        ("DEADLINE_EXCEEDED", errors.NoAnswerInTime),
        ("UNIMPLEMENTED", errors.NotImplementedYet),
        ("INTERNAL", errors.ServerFailure),
        ("UNKNOWN", errors.ServerFailure),
    ],
)
def test_each_code_has_its_class(code, kind):
    error = errors.error_from_status(status(code, "text", info("ANY_REASON")))
    assert type(error) is kind
    assert error.code == code


def test_details_are_read():
    bad = details.BadRequest(
        field_violations=[details.BadRequest.FieldViolation(field="run.x", description="is wrong")]
    )
    error = errors.error_from_status(
        status("INVALID_ARGUMENT", "run.x: is wrong", info("INVALID_FIELD", field="run.x"), bad)
    )
    assert (error.reason, error.metadata) == ("INVALID_FIELD", {"field": "run.x"})
    assert error.field_violations == (errors.FieldViolation("run.x", "is wrong"),)
    assert not error.retryable


def test_retry_info_makes_an_error_retryable_and_gives_the_delay():
    retry = details.RetryInfo(retry_delay=Duration(seconds=2, nanos=500_000_000))
    error = errors.error_from_status(
        status("RESOURCE_EXHAUSTED", "full", info("QUEUE_FULL"), retry)
    )
    assert (error.retryable, error.retry_delay) == (True, 2.5)


def test_reason_of_a_foreign_domain_is_not_ours():
    foreign = details.ErrorInfo(reason="RUN_NOT_FOUND", domain="example.org")
    assert errors.error_from_status(status("NOT_FOUND", "text", foreign)).reason == ""


def test_request_id_of_an_internal_error_is_kept():
    request = details.RequestInfo(request_id="r-1")
    error = errors.error_from_status(status("INTERNAL", "failed", info("INTERNAL"), request))
    assert error.metadata["request_id"] == "r-1"


def test_code_unknown_to_this_client_is_a_server_failure():
    error = errors.error_from_status(status_pb2.Status(code=99, message="?"))
    assert type(error) is errors.ServerFailure
    assert error.code == "UNKNOWN"


def test_refused_connection_is_not_reachable_and_names_address_and_cause():
    text = (
        "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: "
        "Failed to connect to remote host: connect: Connection refused (111)"
    )
    error = errors.error_from_rpc(FailedCall("UNAVAILABLE", text), "127.0.0.1:1")
    assert type(error) is errors.NotReachable
    assert error.message == "nothing answers at 127.0.0.1:1 (connect: Connection refused (111))"
    assert error.retryable


def test_unavailable_that_the_server_says_is_not_a_lost_connection():
    rich = status("UNAVAILABLE", "Triton is gone", info("TRITON_UNAVAILABLE"))
    error = errors.error_from_rpc(FailedCall("UNAVAILABLE", "Triton is gone", rich), "h:1")
    assert type(error) is errors.Unavailable
    assert not errors.is_connection_loss(error)


def test_rich_status_that_contradicts_the_plain_one_is_ignored():
    rich = status("NOT_FOUND", "text", info("RUN_NOT_FOUND"))
    error = errors.error_from_rpc(FailedCall("INTERNAL", "text", rich), "h:1")
    assert (error.code, error.reason) == ("INTERNAL", "")


def test_message_above_the_limit_says_both_sizes_and_what_to_do():
    text = "CLIENT: Received message larger than max (5000000 vs. 4194304)"
    error = errors.error_from_rpc(FailedCall("RESOURCE_EXHAUSTED", text), "h:1")
    assert type(error) is errors.Overloaded
    assert "5000000 vs. 4194304" in error.message
    assert "max_message_bytes" in error.message


def test_server_that_speaks_something_else_is_named():
    error = errors.error_from_rpc(FailedCall("UNIMPLEMENTED", "Method not found!"), "h:1")
    assert error.message == "h:1 answers, but is not a LookBench evaluator of this version"


def test_client_deadline_says_what_to_do():
    error = errors.error_from_rpc(FailedCall("DEADLINE_EXCEEDED", "Deadline Exceeded"), "h:1")
    assert type(error) is errors.NoAnswerInTime
    assert "timeout" in error.message


def test_translated_keeps_the_cause():
    call = FailedCall("INTERNAL", "text")
    with pytest.raises(errors.ServerFailure) as caught, errors.translated("h:1"):
        raise call
    assert caught.value.__cause__ is call


def test_docstring_draws_every_class():
    kinds = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.LookbenchClientError)
    ]
    assert all(kind.__name__ in errors.__doc__ for kind in kinds)
