"""The contract follows the AIPs that the design names."""

import pytest
from google.api import field_behavior_pb2

from lookbench.v1 import evaluation_service_pb2, run_pb2

SERVICE = evaluation_service_pb2.DESCRIPTOR.services_by_name["EvaluationService"]
REQUESTS = [method.input_type for method in SERVICE.methods]


@pytest.mark.parametrize("message", REQUESTS, ids=lambda message: message.name)
def test_every_request_field_states_its_behaviour(message):
    for field in message.fields:
        behaviour = field.GetOptions().Extensions[field_behavior_pb2.field_behavior]
        assert behaviour, f"{message.name}.{field.name} (AIP-203)"


@pytest.mark.parametrize(
    "message", [m for m in REQUESTS if m.name.startswith("List")], ids=lambda m: m.name
)
def test_every_list_is_paged(message):
    assert {"page_size", "page_token"} <= set(message.fields_by_name)
    answer = evaluation_service_pb2.DESCRIPTOR.message_types_by_name[
        message.name.replace("Request", "Response")
    ]
    assert "next_page_token" in answer.fields_by_name


def test_the_zero_of_every_enum_means_unspecified():
    enums = [
        enum
        for message in run_pb2.DESCRIPTOR.message_types_by_name.values()
        for enum in message.enum_types
    ]
    assert enums
    for enum in enums:
        assert enum.values_by_number[0].name.endswith("_UNSPECIFIED")


def test_all_messages_stay_under_the_default_limit_without_options():
    """A client with default options can talk to the server: bulk data is paged."""
    streaming = [m.name for m in SERVICE.methods if m.client_streaming or m.server_streaming]
    assert streaming == ["WatchRun"]
