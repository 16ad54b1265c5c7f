"""Whether the parts of a stack answer: gRPC health of the evaluator, models of Triton."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass

import grpc

from lookbench_core.triton_reason import clean_reason

_STATES = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
UNREACHABLE = "UNREACHABLE"
UNLOADED = "unloaded"
"""Triton's reason for a model that someone unloaded on purpose."""

# A local stack is never behind the proxy that the environment may name.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class ServedModel:
    """A model of Triton's repository. `reason` says why it is not ready."""

    name: str
    ready: bool
    reason: str


def encode_request(service: str) -> bytes:
    """A grpc.health.v1.HealthCheckRequest: one string field, number 1, under 128 bytes."""
    name = service.encode()
    return bytes([0x0A, len(name)]) + name if name else b""


def decode_response(message: bytes) -> str:
    """State of a grpc.health.v1.HealthCheckResponse: one enum field, number 1."""
    number = message[1] if len(message) >= 2 and message[0] == 0x08 else 0
    return _STATES.get(number, "UNKNOWN")


def health(target: str, service: str = "", timeout: float = 2.0) -> str:
    """Health of one service name: SERVING, NOT_SERVING, SERVICE_UNKNOWN, … or UNREACHABLE."""
    options = [
        # A channel that failed once backs off, and channels share their connections
        # unless told not to: each probe must really try.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_http_proxy", 0),
    ]
    with grpc.insecure_channel(target, options=options) as channel:
        check: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            "/grpc.health.v1.Health/Check"
        )
        try:
            return decode_response(check(encode_request(service), timeout=timeout))
        except grpc.RpcError as error:
            known = error.code() == grpc.StatusCode.NOT_FOUND
            return "SERVICE_UNKNOWN" if known else UNREACHABLE


def served_models(triton_url: str, timeout: float = 2.0) -> list[ServedModel] | None:
    """The models of Triton's repository, by name; None when Triton does not answer.

    Server readiness alone would not do: it stays false for ever once one model
    fails to load, and says nothing about which.
    """
    request = urllib.request.Request(  # noqa: S310 - http on this machine
        f"{triton_url}/v2/repository/index", data=b"{}", method="POST"
    )
    try:
        with _OPENER.open(request, timeout=timeout) as answer:
            entries = json.load(answer)
    except (OSError, ValueError, urllib.error.URLError):
        return None
    models = [
        ServedModel(
            entry["name"], entry.get("state") == "READY", clean_reason(entry.get("reason", ""))
        )
        for entry in entries
    ]
    return sorted(models, key=lambda model: model.name)
