"""Messages of grpc.health.v1, held to the official package's."""

import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from lbclient.stack.health import decode_response, encode_request


@pytest.mark.parametrize("service", ["", "triton", "lookbench.v1.EvaluationService"])
def test_request_equals_the_official_encoding(service):
    assert encode_request(service) == HealthCheckRequest(service=service).SerializeToString()


@pytest.mark.parametrize("name", HealthCheckResponse.ServingStatus.keys())
def test_response_is_read(name):
    message = HealthCheckResponse(status=name).SerializeToString()
    assert decode_response(message) == name
