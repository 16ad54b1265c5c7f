import json

import pytest

from lookbench_triton.canary import Canary, Verdict, canary_request
from lookbench_triton.errors import ServerUnreachable

CONFIG = {
    "max_batch_size": 8,
    "input": [
        {"name": "image", "data_type": "TYPE_UINT8", "dims": ["2", "3"]},
        {"name": "ids", "data_type": "TYPE_INT64", "dims": ["-1"]},
    ],
}


def test_the_request_is_one_row_of_zeros_as_raw_bytes():
    body, length = canary_request(CONFIG)
    inputs = json.loads(body[:length])["inputs"]
    assert [(i["name"], i["datatype"], i["shape"]) for i in inputs] == [
        ("image", "UINT8", [1, 2, 3]),
        ("ids", "INT64", [1, 1]),
    ]
    assert [i["parameters"]["binary_data_size"] for i in inputs] == [6, 8]
    assert body[length:] == bytes(14)


def test_a_model_without_batches_gets_no_batch_axis():
    body, length = canary_request({**CONFIG, "max_batch_size": 0})
    assert json.loads(body[:length])["inputs"][0]["shape"] == [2, 3]


class Api:
    """Statuses of the inferences to come, and how many batches the model has answered."""

    def __init__(self, *statuses, executions=(0,)):
        self._statuses = list(statuses)
        self._executions = list(executions)

    def executions(self, model):
        return self._executions.pop(0) if len(self._executions) > 1 else self._executions[0]

    def config(self, model):
        return CONFIG

    def call(self, method, path, body, headers, timeout):
        status = self._statuses.pop(0)
        if isinstance(status, Exception):
            raise status
        return status, b""


def verdicts(api, rounds):
    canary = Canary(api, 1.0)
    return [canary.probe("m") for _ in range(rounds)]


def test_an_answer_is_an_answer_and_an_error_after_it_a_failure():
    assert verdicts(Api(200, 500, 200), 3) == [
        Verdict.ANSWERED,
        Verdict.FAILED,
        Verdict.ANSWERED,
    ]


@pytest.mark.parametrize("status", [400, 404, 500])
def test_a_model_that_never_took_zeros_is_not_judged_by_them(status):
    assert verdicts(Api(status), 1) == [Verdict.UNSUITED]


def test_a_refused_request_is_not_a_dead_process():
    assert verdicts(Api(200, 400), 2)[1] is Verdict.UNSUITED


def test_silence_while_others_are_answered_is_load():
    assert verdicts(Api(TimeoutError(), executions=(3, 5)), 1) == [Verdict.BUSY]


def test_silence_for_all_is_a_failure():
    assert verdicts(Api(TimeoutError(), executions=(3, 3)), 1) == [Verdict.FAILED]


def test_a_server_that_went_away_is_seen_elsewhere():
    assert verdicts(Api(ServerUnreachable("gone")), 1) == [Verdict.UNSUITED]
