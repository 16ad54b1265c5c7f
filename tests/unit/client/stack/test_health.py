"""Messages of grpc.health.v1, held to the official package's."""

import json
from io import BytesIO

import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from lbclient.stack import health
from lbclient.stack.health import ServedModel, decode_response, encode_request


@pytest.mark.parametrize("service", ["", "triton", "lookbench.v1.EvaluationService"])
def test_request_equals_the_official_encoding(service):
    assert encode_request(service) == HealthCheckRequest(service=service).SerializeToString()


@pytest.mark.parametrize("name", HealthCheckResponse.ServingStatus.keys())
def test_response_is_read(name):
    message = HealthCheckResponse(status=name).SerializeToString()
    assert decode_response(message) == name


def test_reasons_of_triton_reach_people_without_pythons_stack(monkeypatch):
    reason = "Internal: ModelRefused: model 'a': bad graph\n\nAt:\n  /x/model.py(1): initialize\n"
    index = [{"name": "a", "state": "UNAVAILABLE", "reason": reason}, {"name": "b"}]
    answer = BytesIO(json.dumps(index).encode())
    monkeypatch.setattr(health._OPENER, "open", lambda request, timeout: answer)
    assert health.served_models("http://127.0.0.1:1") == [
        ServedModel("a", False, "model 'a': bad graph"),
        ServedModel("b", False, ""),
    ]
