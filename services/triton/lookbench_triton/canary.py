"""A small inference per model, to know that its process answers."""

import enum
import json
import math
from typing import Any
from urllib.parse import quote

from lookbench_triton.errors import ServerUnreachable
from lookbench_triton.server_api import ServerApi

ITEM_BYTES = {
    "BOOL": 1,
    "UINT8": 1,
    "UINT16": 2,
    "UINT32": 4,
    "UINT64": 8,
    "INT8": 1,
    "INT16": 2,
    "INT32": 4,
    "INT64": 8,
    "FP16": 2,
    "FP32": 4,
    "FP64": 8,
}


class Verdict(enum.Enum):
    """Outcome of one canary."""

    ANSWERED = "answered"
    BUSY = "busy"
    """No answer in time, but the model answered others meanwhile."""
    FAILED = "failed"
    """An error of the server, or silence while nothing else was answered either."""
    UNSUITED = "unsuited"
    """The graph itself refuses zeros, or the model went away: says nothing about health."""


def canary_request(config: dict[str, Any]) -> tuple[bytes, int]:
    """A body of zeros for one row, and the length of its JSON part.

    Open dimensions become 1. Values travel as raw bytes (the binary tensor
    extension): zeros of a whole image as JSON would cost more than the inference.
    """
    batch = [1] if config["max_batch_size"] > 0 else []
    inputs, size = [], 0
    for tensor in config["input"]:
        datatype = tensor["data_type"].removeprefix("TYPE_")
        shape = batch + [max(1, int(length)) for length in tensor["dims"]]
        length = math.prod(shape) * ITEM_BYTES[datatype]
        size += length
        inputs.append(
            {
                "name": tensor["name"],
                "datatype": datatype,
                "shape": shape,
                "parameters": {"binary_data_size": length},
            }
        )
    request = {"id": "canary", "inputs": inputs, "parameters": {"binary_data_output": True}}
    header = json.dumps(request).encode()
    return header + bytes(size), len(header)


class Canary:
    """Probes the models of one server; `timeout` in seconds."""

    def __init__(self, api: ServerApi, timeout: float) -> None:
        self._api = api
        self._timeout = timeout
        self._requests: dict[str, tuple[bytes, int]] = {}
        self._proven: set[str] = set()

    def probe(self, model: str) -> Verdict:
        """One inference. A model that never answered one is UNSUITED, not FAILED."""
        try:
            before = self._api.executions(model)
            status = self._infer(model)
            if status is None:
                return Verdict.BUSY if self._api.executions(model) > before else Verdict.FAILED
        except ServerUnreachable:
            return Verdict.UNSUITED  # unloaded meanwhile; a dead server is noticed elsewhere
        if status == 200:
            self._proven.add(model)
            return Verdict.ANSWERED
        self._requests.pop(model, None)  # perhaps loaded anew, with another configuration
        return Verdict.FAILED if status >= 500 and model in self._proven else Verdict.UNSUITED

    def _infer(self, model: str) -> int | None:
        """The HTTP status; None when there was no answer in time."""
        if model not in self._requests:
            self._requests[model] = canary_request(self._api.config(model))
        body, header_length = self._requests[model]
        headers = {
            "Content-Type": "application/octet-stream",
            "Inference-Header-Content-Length": str(header_length),
        }
        path = f"/v2/models/{quote(model)}/infer"
        try:
            return self._api.call("POST", path, body, headers, timeout=self._timeout)[0]
        except TimeoutError:
            return None
