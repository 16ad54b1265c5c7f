import inspect

import grpc
import pytest

from lookbench.v1 import errors_pb2
from lookbench_core.errors import LookbenchError
from lookbench_exporter import errors

ERRORS = [
    cls
    for _, cls in inspect.getmembers(errors, inspect.isclass)
    if issubclass(cls, LookbenchError) and cls is not LookbenchError
]


@pytest.mark.parametrize("cls", ERRORS)
def test_reason_and_code_are_part_of_the_contract(cls):
    assert cls.reason in errors_pb2.ErrorReason.DESCRIPTOR.values_by_name
    assert cls.code in grpc.StatusCode.__members__


def test_a_refusal_names_its_check_to_people_and_programs():
    error = errors.ExportRefused("parity", "cosine 0.5", figure=0.5)
    assert error.message == "parity: cosine 0.5"
    assert error.metadata == {"check": "parity", "figure": "0.5"}
