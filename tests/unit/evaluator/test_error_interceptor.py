"""Errors as statuses: ErrorInfo on each, the fitting detail once, nothing of the unexpected."""

import pytest
from google.rpc import code_pb2, error_details_pb2

from lookbench_evaluator.error_interceptor import status_of
from lookbench_evaluator.errors import (
    InvalidField,
    QueueFull,
    RunAlreadyExists,
    RunNotCancellable,
    RunNotFound,
)

DETAILS = {
    kind.DESCRIPTOR.full_name: kind
    for kind in (
        error_details_pb2.ErrorInfo,
        error_details_pb2.BadRequest,
        error_details_pb2.ResourceInfo,
        error_details_pb2.PreconditionFailure,
        error_details_pb2.RetryInfo,
        error_details_pb2.RequestInfo,
    )
}


def unpacked(status):
    found = {}
    for packed in status.details:
        name = packed.TypeName()
        assert name not in found, "each detail type at most once (AIP-193)"
        found[name.rpartition(".")[2]] = DETAILS[name].FromString(packed.value)
    return found


@pytest.mark.parametrize(
    ("error", "code", "detail"),
    [
        (InvalidField("run.benchmark", "is empty"), "INVALID_ARGUMENT", "BadRequest"),
        (RunNotFound("runs/x"), "NOT_FOUND", "ResourceInfo"),
        (RunAlreadyExists("runs/x", "choose another"), "ALREADY_EXISTS", "ResourceInfo"),
        (RunNotCancellable("has ended"), "FAILED_PRECONDITION", "PreconditionFailure"),
        (QueueFull("full", limit=3), "RESOURCE_EXHAUSTED", "RetryInfo"),
    ],
)
def test_each_kind_has_its_code_and_detail(error, code, detail):
    status = status_of(error)
    found = unpacked(status)
    assert status.code == code_pb2.Code.Value(code)
    assert set(found) == {"ErrorInfo", detail}
    assert found["ErrorInfo"].reason == error.reason
    assert found["ErrorInfo"].domain == "lookbench.dev"
    assert dict(found["ErrorInfo"].metadata) == dict(error.metadata)


def test_the_unexpected_tells_its_request_and_nothing_else():
    status = status_of(ValueError("secret /etc/passwd"), "req-1")
    assert status.code == code_pb2.INTERNAL
    assert "secret" not in str(status)
    assert "ValueError" not in str(status)
    assert unpacked(status)["RequestInfo"].request_id == "req-1"
    assert unpacked(status)["ErrorInfo"].metadata["request_id"] == "req-1"


def test_long_values_are_cut_so_that_the_status_fits_into_headers():
    status = status_of(InvalidField("f", "x" * 100_000))
    assert status.ByteSize() < 8000
