import pytest
import structlog

from lookbench_triton.canary import Verdict
from lookbench_triton.errors import ServerUnreachable
from lookbench_triton.health import (
    CanaryThread,
    HealthWatch,
    refused_models,
    remember,
    served_models,
)
from lookbench_triton.server_api import ModelState

READY = ModelState("a", "1", "READY", "")
NEW_BROKEN_VERSION = ModelState("a", "2", "UNAVAILABLE", "corrupt")
BROKEN = ModelState("b", "1", "UNAVAILABLE", "corrupt")
UNLOADED = ModelState("c", "1", "UNAVAILABLE", "unloaded")
NEVER_ASKED = ModelState("d", "", "UNAVAILABLE", "")
INDEX = [READY, NEW_BROKEN_VERSION, BROKEN, UNLOADED, NEVER_ASKED]


def test_a_model_is_served_by_any_good_version():
    assert served_models(INDEX) == {"a"}


def test_wanted_models_that_are_not_served_have_a_reason():
    assert refused_models({"a", "b", "x"}, INDEX) == {
        "b": "corrupt",
        "x": "Triton does not see its folder",
    }


def test_what_users_loaded_is_kept_and_what_they_unloaded_is_not():
    assert remember({"b", "c"}, INDEX) == {"a", "b"}


class Api:
    def __init__(self, index=(READY,)):
        self._index = index

    def index(self):
        if self._index is None:
            raise ServerUnreachable("gone")
        return list(self._index)


@pytest.fixture
def canary(monkeypatch):
    found = CanaryThread(Api(), interval=0, timeout=1.0)
    found.verdicts = []
    monkeypatch.setattr(found._canary, "probe", lambda _: found.verdicts.pop(0))
    return found


def rounds(canary, *verdicts):
    canary.verdicts.extend(verdicts)
    for _ in verdicts:
        canary.round()
    return canary.fault


def test_one_failure_is_forgiven_and_two_in_a_row_are_a_fault(canary):
    assert rounds(canary, Verdict.FAILED, Verdict.ANSWERED, Verdict.FAILED) is None
    assert rounds(canary, Verdict.FAILED) == "model 'a' no longer answers"


def test_load_is_no_fault(canary):
    assert rounds(canary, *[Verdict.BUSY] * 5) is None


def test_a_model_that_cannot_be_probed_is_said_once(canary):
    with structlog.testing.capture_logs() as events:
        canary._log = structlog.get_logger()
        assert rounds(canary, *[Verdict.UNSUITED] * 3) is None
    assert [event["model"] for event in events] == ["a"]


def watch(api=None, exit_text=None, dead=(), fault=None):
    canary = CanaryThread(Api(), interval=0, timeout=1.0)
    canary.fault = fault
    found = HealthWatch(1, lambda: exit_text, api or Api(), canary)
    found._stubs.dead_models = lambda: set(dead)
    return found.fault()


def test_all_is_well():
    assert watch() is None


def test_a_dead_server_a_dead_stub_and_a_mute_model_are_faults():
    assert watch(exit_text="ended by signal SIGKILL") == "the server ended by signal SIGKILL"
    assert watch(dead=["a"]) == "the process of model 'a' died"
    assert watch(fault="model 'a' no longer answers") == "model 'a' no longer answers"


def test_the_dead_stub_of_a_failed_load_is_none():
    assert watch(api=Api([BROKEN]), dead=["b"]) is None


def test_a_dead_stub_waits_for_an_answer_about_its_model():
    assert watch(api=Api(None), dead=["a"]) is None
