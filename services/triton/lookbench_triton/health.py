"""Watches a running server: its process, its stubs, its models' answers."""

import threading
from collections.abc import Callable

import structlog

from lookbench_triton.canary import Canary, Verdict
from lookbench_triton.errors import ServerUnreachable
from lookbench_triton.processes import StubWatch
from lookbench_triton.server_api import UNLOADED, ModelState, ServerApi

FAILURES_IN_A_ROW = 2


def served_models(index: list[ModelState]) -> set[str]:
    """Models with at least one version that can be used."""
    return {model.name for model in index if model.ready}


def refused_models(wanted: set[str], index: list[ModelState]) -> dict[str, str]:
    """Wanted models that are not served, by name, with the reason."""
    served = served_models(index)
    reasons = {model.name: model.reason or model.state.lower() for model in index}
    unserved = sorted(wanted - served)
    return {name: reasons.get(name, "Triton does not see its folder") for name in unserved}


def remember(wanted: set[str], index: list[ModelState]) -> set[str]:
    """`wanted`, with what users loaded since and without what they unloaded."""
    served = served_models(index)
    unloaded = {model.name for model in index if model.reason == UNLOADED}
    return (wanted | served) - (unloaded - served)


class CanaryThread:
    """Probes every served model at an interval; the first lasting failure is `fault`.

    In a thread, because under load a canary waits in the queue like everyone else,
    and neither a dead server nor a signal may wait for it.
    """

    def __init__(self, api: ServerApi, interval: float, timeout: float) -> None:
        self.fault: str | None = None
        self._api, self._interval = api, interval
        self._canary = Canary(api, timeout)
        self._failures: dict[str, int] = {}
        self._warned: set[str] = set()
        self._stop = threading.Event()
        self._log = structlog.get_logger()
        if interval > 0:
            threading.Thread(target=self._run, daemon=True, name="canary").start()

    def stop(self) -> None:
        """Ends the thread after the probe at hand; does not wait for it."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.is_set() and not self.fault:
            self.round()
            self._stop.wait(self._interval)

    def round(self) -> None:
        """Probes each model once."""
        try:
            models = served_models(self._api.index())
        except ServerUnreachable:
            return  # the supervisor sees a dead process by itself
        for model in sorted(models):
            if not self._stop.is_set():
                self._note(model, self._canary.probe(model))

    def _note(self, model: str, verdict: Verdict) -> None:
        failures = self._failures.get(model, 0) + 1 if verdict is Verdict.FAILED else 0
        self._failures[model] = failures
        if failures >= FAILURES_IN_A_ROW:
            self.fault = f"model '{model}' no longer answers"
        if verdict is Verdict.UNSUITED and model not in self._warned:
            self._warned.add(model)
            self._log.warning("the canary cannot watch this model", model=model)


class HealthWatch:
    """What is wrong with a server, if anything."""

    def __init__(
        self,
        server_pid: int,
        exit_text: Callable[[], str | None],
        api: ServerApi,
        canary: CanaryThread,
    ) -> None:
        self._stubs = StubWatch(server_pid)
        self._exit_text = exit_text
        self._api = api
        self._canary = canary

    def fault(self) -> str | None:
        """One sentence; None when all is well. Cheap enough for a few calls a second."""
        ended = self._exit_text()
        if ended:
            return f"the server {ended}"
        return self._dead_stub() or self._canary.fault

    def _dead_stub(self) -> str | None:
        dead = self._stubs.dead_models()
        if not dead:
            return None
        try:
            dead &= served_models(self._api.index())  # a failed load leaves a dead stub, too
        except ServerUnreachable:
            return None
        return f"the process of model '{min(dead)}' died" if dead else None
