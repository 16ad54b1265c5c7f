import http.client
import json
from types import SimpleNamespace

import pytest

from lookbench_triton.errors import ModelLoadFailed, ServerUnreachable
from lookbench_triton.server_api import ModelState, ServerApi


class Canned(ServerApi):
    """Answers from a table of path → (status, body)."""

    def __init__(self, answers):
        super().__init__("127.0.0.1", 1)
        self._answers = answers

    def call(self, method, path, body=None, headers=None, timeout=None):
        answer = self._answers[path]
        if isinstance(answer, Exception):
            raise answer
        status, content = answer
        return status, content if isinstance(content, bytes) else json.dumps(content).encode()


def test_the_index_lists_states_with_clean_reasons():
    entries = [
        {"name": "a", "version": "1", "state": "READY"},
        {"name": "b", "version": "1", "state": "UNAVAILABLE", "reason": "Internal: no\n\nAt:\n x"},
        {"name": "c"},
    ]
    found = Canned({"/v2/repository/index": (200, entries)}).index()
    assert found == [
        ModelState("a", "1", "READY", ""),
        ModelState("b", "1", "UNAVAILABLE", "no"),
        ModelState("c", "", "UNAVAILABLE", ""),
    ]
    assert [model.ready for model in found] == [True, False, False]


@pytest.mark.parametrize(
    ("answer", "ready"),
    [
        ((200, b""), True),
        ((400, b""), False),
        (ServerUnreachable("x"), False),
        (TimeoutError(), False),
    ],
)
def test_readiness_never_raises(answer, ready):
    assert Canned({"/v2/health/ready": answer}).ready() is ready


def test_a_refused_load_carries_tritons_reason():
    body = {
        "error": "load failed for model 'a': version 1 is at UNAVAILABLE state: Internal: bad;\n"
    }
    api = Canned({"/v2/repository/models/a/load": (400, body)})
    with pytest.raises(ModelLoadFailed, match=r"^Triton did not load 'a': bad$"):
        api.load("a")


def test_a_model_name_cannot_leave_its_path():
    api = Canned({"/v2/repository/models/..%2Fx/unload": (200, b"")})
    api.unload("../x")


def test_a_slow_load_says_how_long_was_waited():
    api = Canned({"/v2/repository/models/a/load": TimeoutError()})
    with pytest.raises(ModelLoadFailed, match="within 300 s"):
        api.load("a")


@pytest.mark.parametrize(
    ("answer", "text"),
    [((404, b"<html>"), "<html>"), ((200, b"<html>"), "not JSON"), (TimeoutError(), "no answer")],
)
def test_something_that_is_not_triton_is_said(answer, text):
    with pytest.raises(ServerUnreachable, match=text):
        Canned({"/v2/models/a/config": answer}).config("a")


def test_nothing_listening_names_the_command(monkeypatch):
    def refuse(*_):
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(http.client.HTTPConnection, "request", refuse)
    with pytest.raises(ServerUnreachable, match=r"refused.*lookbench-triton serve"):
        ServerApi("127.0.0.1", 1).index()


def test_every_connection_is_closed_and_asked_to_be(monkeypatch):
    """An idle one would delay the server's stop."""
    seen = []

    class Connection:
        def __init__(self, host, port, timeout):
            seen.append((host, port, timeout))

        def request(self, method, path, body, headers):
            seen.append(headers["Connection"])

        def getresponse(self):
            return SimpleNamespace(status=200, read=lambda: b"ok")

        def close(self):
            seen.append("closed")

    monkeypatch.setattr(http.client, "HTTPConnection", Connection)
    assert ServerApi("127.0.0.1", 8000, timeout=2).call("GET", "/") == (200, b"ok")
    assert seen == [("127.0.0.1", 8000, 2), "close", "closed"]


def test_only_a_server_that_controls_its_repository_is_triton():
    api = Canned({"/v2": (200, {"name": "triton", "extensions": ["model_repository"]})})
    api.require_repository_control()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ((404, b"<html>\x1b[31m" + b"x" * 500), r"it answers '<html>\\x1b\[31mx+…'\)"),
        ((200, []), r"it answers '\[\]'"),
        ((200, {"extensions": []}), "it answers"),
        (TimeoutError(), "no answer within 5 s"),
    ],
)
def test_what_is_not_triton_is_quoted_and_the_way_on_is_named(answer, text):
    with pytest.raises(ServerUnreachable, match=rf"127.0.0.1:1 is not Triton.*{text}") as refusal:
        Canned({"/v2": answer}).require_repository_control()
    assert "lbclient up" in refusal.value.message
    assert len(refusal.value.message) < 500


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (http.client.BadStatusLine("\x00\x1b" * 500), r"is not Triton \(it answers '\\x00"),
        (http.client.RemoteDisconnected("no answer"), "closed the connection"),
        (OSError("no such name"), r"cannot be reached \(no such name"),
    ],
)
def test_a_failed_connection_says_how(monkeypatch, error, text):
    def fail(*_):
        raise error

    monkeypatch.setattr(http.client.HTTPConnection, "request", fail)
    with pytest.raises(ServerUnreachable, match=text) as refusal:
        ServerApi("127.0.0.1", 1).index()
    assert "\x1b" not in refusal.value.message
