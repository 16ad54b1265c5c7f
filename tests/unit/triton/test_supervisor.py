import signal
from pathlib import Path
from typing import ClassVar

import pytest
import structlog

from lookbench_triton import supervisor as module
from lookbench_triton.errors import ServerFailed
from lookbench_triton.server_api import ModelState
from lookbench_triton.settings import ServeSettings

READY = ModelState("a", "1", "READY", "")
BROKEN = ModelState("b", "1", "UNAVAILABLE", "corrupt")


class Server:
    """A process that is ready at once and lives until told otherwise."""

    started: ClassVar[list] = []
    ends_at_start = False

    def __init__(self, command, environment, folder, shm_prefix):
        Server.started.append(self)
        self.pid = 1
        self.ended = "ended with exit code 1" if Server.ends_at_start else None
        self.stopped = False

    def exit_text(self):
        return self.ended

    def log_tail(self):
        return "the last line"

    def stop(self, grace, hurry):
        self.stopped = True


class Api:
    address = "127.0.0.1:8000"
    entries: ClassVar[list] = [READY]

    def ready(self):
        return not Server.ends_at_start

    def index(self):
        return self.entries


@pytest.fixture
def supervise(monkeypatch):
    """A supervisor whose server, clock and API are not real."""
    monkeypatch.setattr(Server, "started", [])
    monkeypatch.setattr(Server, "ends_at_start", False)
    monkeypatch.setattr(Api, "entries", [READY])
    for name in ("adopt_orphans", "remove_abandoned"):
        monkeypatch.setattr(module, name, lambda: None)
    monkeypatch.setattr(module, "ServerProcess", Server)
    monkeypatch.setattr(module, "ServerApi", lambda *_: Api())
    monkeypatch.setattr(module, "server_environment", lambda *_: {})
    monkeypatch.setattr(module.Supervisor, "_sleep", lambda *_: None)
    monkeypatch.setattr(module, "TICK_S", 0.0)
    settings = ServeSettings(Path("/models"), Path("/triton"), canary_interval=0)

    def make(models=("a",)):
        announced = []
        found = module.Supervisor(settings, list(models), lambda *what: announced.append(what))
        found.announced = announced
        return found

    with structlog.testing.capture_logs():
        yield make


def stop_after(supervisor, ticks):
    """Sends ourselves SIGTERM at the given look at the server."""
    seen = []
    remember = supervisor._remember

    def count():
        seen.append(1)
        if len(seen) == ticks:
            signal.raise_signal(signal.SIGTERM)
        remember()

    supervisor._remember = count


def test_a_stop_ends_the_server_and_restores_the_handlers(supervise):
    before = signal.getsignal(signal.SIGTERM)
    supervisor = supervise()
    stop_after(supervisor, 1)
    supervisor.run()
    assert [server.stopped for server in Server.started] == [True]
    assert supervisor.announced == [(["a"], {})]
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_broken_model_is_announced_beside_the_served(supervise, monkeypatch):
    monkeypatch.setattr(Api, "entries", [READY, BROKEN])
    supervisor = supervise(["a", "b"])
    stop_after(supervisor, 1)
    supervisor.run()
    assert supervisor.announced == [(["a"], {"b": "corrupt"})]


def test_only_broken_models_are_a_failure(supervise, monkeypatch):
    monkeypatch.setattr(Api, "entries", [BROKEN])
    with pytest.raises(ServerFailed, match=r"none of the models:\n  b: corrupt"):
        supervise(["b"]).run()
    assert Server.started[0].stopped


def test_a_server_that_dies_while_starting_fails_with_its_log(supervise, monkeypatch):
    monkeypatch.setattr(Server, "ends_at_start", True)
    with pytest.raises(ServerFailed, match=r"exit code 1\. The last lines of its log:\nthe last"):
        supervise().run()


def test_a_dead_server_is_replaced_with_what_was_loaded(supervise, monkeypatch):
    supervisor = supervise(["b"])
    loaded = []
    monkeypatch.setattr(
        module, "server_command", lambda settings, models, prefix: loaded.append(models) or []
    )

    def die_once():
        if len(Server.started) == 1:
            supervisor._wanted = module.remember(supervisor._wanted, Api().index())
            Server.started[0].ended = "ended by signal SIGSEGV"
        else:
            signal.raise_signal(signal.SIGTERM)

    supervisor._remember = die_once
    supervisor.run()
    assert loaded == [["b"], ["a", "b"]]
    assert all(server.stopped for server in Server.started)


def test_a_server_that_keeps_dying_is_given_up(supervise):
    supervisor = supervise()
    original = supervisor._start

    def start():
        original()
        Server.started[-1].ended = "ended by signal SIGKILL"

    supervisor._start = start
    with pytest.raises(ServerFailed, match=r"after 5 restarts.*SIGKILL.*memory.*\nthe last line"):
        supervisor.run()
    assert len(Server.started) == 6
