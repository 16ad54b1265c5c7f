"""Keeps a server running until it is told to stop."""

import os
import signal
import time
from collections.abc import Callable
from types import FrameType

import structlog

from lookbench_triton.errors import ServerFailed, ServerUnreachable
from lookbench_triton.health import (
    CanaryThread,
    HealthWatch,
    refused_models,
    remember,
    served_models,
)
from lookbench_triton.launcher import server_command, server_environment
from lookbench_triton.processes import adopt_orphans
from lookbench_triton.restarts import RestartBudget
from lookbench_triton.server_api import ServerApi
from lookbench_triton.server_process import ServerProcess
from lookbench_triton.settings import ServeSettings
from lookbench_triton.shared_memory import own_prefix, remove_abandoned

TICK_S = 0.25
INDEX_EVERY = 4  # ticks between two looks at what users loaded and unloaded

OnReady = Callable[[list[str], dict[str, str]], None]


class Supervisor:
    """Starts, watches, restarts and stops one server. `run` belongs to the main thread."""

    def __init__(self, settings: ServeSettings, models: list[str], on_ready: OnReady) -> None:
        """`on_ready` gets the served models and, by name, why the others are not."""
        self._settings = settings
        self._wanted = set(models)
        self._on_ready = on_ready
        self._api = ServerApi(settings.contact_host, settings.http_port)
        self._budget = RestartBudget()
        self._prefix = own_prefix()
        self._stops = 0
        self._server: ServerProcess | None = None
        self._watch: HealthWatch | None = None
        self._canary: CanaryThread | None = None
        self._log = structlog.get_logger()

    def run(self) -> None:
        """Serves until SIGTERM or SIGINT. Raises ServerFailed; leaves no process behind."""
        adopt_orphans()
        remove_abandoned()
        previous = {s: signal.signal(s, self._on_signal) for s in (signal.SIGTERM, signal.SIGINT)}
        try:
            self._start()
            self._report(first=True)
            self._loop()
        finally:
            self._end_server()
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._stops += 1  # a second one means: at once

    def _loop(self) -> None:
        ticks = 0
        while not self._stops:
            time.sleep(TICK_S)
            ticks += 1
            fault = self._watch.fault() if self._watch else None
            if fault and not self._stops:
                self._restart(fault)
            elif ticks % INDEX_EVERY == 0:
                self._remember()

    def _remember(self) -> None:
        try:
            self._wanted = remember(self._wanted, self._api.index())
        except ServerUnreachable:
            return  # too busy to answer; the next look will do

    def _start(self) -> None:
        settings = self._settings
        command = server_command(settings, sorted(self._wanted), self._prefix)
        environment = server_environment(settings, os.environ)
        self._log.info("starting the server", models=sorted(self._wanted))
        self._server = ServerProcess(command, environment, settings.install_dir, self._prefix)
        self._await_ready(self._server)
        self._canary = CanaryThread(self._api, settings.canary_interval, settings.canary_timeout)
        self._watch = HealthWatch(self._server.pid, self._server.exit_text, self._api, self._canary)

    def _await_ready(self, server: ServerProcess) -> None:
        """HTTP opens once every model has been loaded or refused."""
        deadline = time.monotonic() + self._settings.startup_timeout
        while not self._stops and not self._api.ready():
            ended = server.exit_text()
            if ended or time.monotonic() > deadline:
                late = f"was not ready within {self._settings.startup_timeout:g} s"
                raise ServerFailed(
                    f"Triton {ended or late}. The last lines of its log:\n{server.log_tail()}\n"
                    "Whether the install is intact: lookbench-triton check",
                    cause=ended or late,
                )
            time.sleep(TICK_S / 5)

    def _report(self, first: bool = False) -> None:
        """Tells what is served; raises ServerFailed when none of the wanted models is."""
        if self._stops:
            return
        index = self._api.index()
        served = served_models(index)
        broken = refused_models(self._wanted, index)
        for name, reason in broken.items():
            self._log.error("model not served", model=name, reason=reason)
        if first and broken and not served:
            reasons = "\n".join(f"  {name}: {reason}" for name, reason in broken.items())
            raise ServerFailed(f"Triton could load none of the models:\n{reasons}")
        self._log.info("ready", models=sorted(served), http=self._api.address)
        if first:
            self._on_ready(sorted(served), broken)

    def _restart(self, fault: str) -> None:
        """Replaces the server; the budget ends a loop of faults with ServerFailed."""
        while not self._stops:
            tail = self._server.log_tail() if self._server else ""
            self._end_server()
            pause = self._budget.next_pause(time.monotonic())
            if pause is None:
                raise ServerFailed(
                    f"Gave up after {self._budget.limit} restarts within "
                    f"{self._budget.window / 60:g} minutes; the last fault: {fault}. A process "
                    "that is killed again and again often means too little memory. The last "
                    f"lines of the log:\n{tail}",
                    cause=fault,
                )
            self._log.error("restarting the server", fault=fault, pause_s=pause)
            self._sleep(pause)
            try:
                self._start()
                self._report()
                return
            except (ServerFailed, ServerUnreachable) as error:
                fault = error.message.splitlines()[0]

    def _sleep(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self._stops:
            time.sleep(TICK_S / 5)

    def _end_server(self) -> None:
        if self._canary:
            self._canary.stop()
        if self._server:
            before = self._stops
            self._server.stop(self._settings.stop_grace, hurry=lambda: self._stops > max(1, before))
        self._server = self._watch = self._canary = None
