"""Triton's HTTP interface (KServe v2 and the repository extension), with the standard library.

Every connection is closed after its answer: an idle one delays Triton's shutdown
by its whole exit timeout. Proxies of the environment are not used.
"""

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from lookbench_core.triton_reason import clean_reason
from lookbench_triton.errors import ModelLoadFailed, ServerUnreachable

READY = "READY"
UNLOADED = "unloaded"
SHOWN = 200
"""Characters of an unexpected answer that a message quotes."""
HOW_TO_START = (
    "start the local stack with: lbclient up, or Triton alone with: "
    "lookbench-triton serve --repository DIR; --http-port names another port"
)


@dataclass(frozen=True)
class ModelState:
    """One version of one model in the repository index."""

    name: str
    version: str
    state: str
    reason: str

    @property
    def ready(self) -> bool:
        """Whether it can be used."""
        return self.state == READY


class ServerApi:
    """A server's address. Methods raise ServerUnreachable; timeouts in seconds."""

    def __init__(self, host: str, port: int, timeout: float = 5.0) -> None:
        self.address = f"{host}:{port}"
        self._host, self._port, self._timeout = host, port, timeout

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        timeout: float | None = None,
    ) -> tuple[int, bytes]:
        """(status, body) of one request. TimeoutError when there is no answer in time."""
        connection = http.client.HTTPConnection(
            self._host, self._port, timeout=timeout or self._timeout
        )
        try:
            connection.request(method, path, body, {"Connection": "close", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except TimeoutError:
            raise
        except (OSError, http.client.HTTPException) as error:
            text = f"{_connection_fault(error, self.address)}; {HOW_TO_START}"
            raise ServerUnreachable(text, address=self.address) from None
        finally:
            connection.close()

    def ready(self) -> bool:
        """Whether the server takes requests; never raises."""
        try:
            return self.call("GET", "/v2/health/ready")[0] == 200
        except (ServerUnreachable, TimeoutError):
            return False

    def require_repository_control(self) -> None:
        """Raises ServerUnreachable unless Triton answers here and can load models."""
        try:
            status, body = self.call("GET", "/v2")
            if status == 200 and "model_repository" in json.loads(body)["extensions"]:
                return
            cause = f"it answers {shown(body)}"
        except TimeoutError:
            cause = f"no answer within {self._timeout:g} s"
        except (ValueError, KeyError, TypeError):
            cause = f"it answers {shown(body)}"
        raise ServerUnreachable(
            f"What listens at {self.address} is not Triton ({cause}); {HOW_TO_START}",
            address=self.address,
        )

    def index(self) -> list[ModelState]:
        """Every model that was ever loaded or asked for, by version."""
        entries = self._json("POST", "/v2/repository/index")
        return [
            ModelState(
                entry["name"],
                entry.get("version", ""),
                entry.get("state", "UNAVAILABLE"),
                clean_reason(entry.get("reason", "")),
            )
            for entry in entries
        ]

    def config(self, model: str) -> dict[str, Any]:
        """A ready model's final configuration."""
        found: dict[str, Any] = self._json("GET", f"/v2/models/{quote(model)}/config")
        return found

    def executions(self, model: str) -> int:
        """How many batches a model has answered."""
        stats = self._json("GET", f"/v2/models/{quote(model)}/stats")["model_stats"]
        return sum(entry["execution_count"] for entry in stats)

    def load(self, model: str, timeout: float = 300.0) -> None:
        """Loads a model, or loads it anew. Raises ModelLoadFailed with Triton's reason."""
        self._control(model, "load", timeout)

    def unload(self, model: str, timeout: float = 60.0) -> None:
        """Unloads a model; its requests in flight are still answered."""
        self._control(model, "unload", timeout)

    def _control(self, model: str, verb: str, timeout: float) -> None:
        path = f"/v2/repository/models/{quote(model, safe='')}/{verb}"
        try:
            status, body = self.call("POST", path, b"{}", timeout=timeout)
        except TimeoutError:
            raise ModelLoadFailed(
                f"Triton did not {verb} '{model}' within {timeout:g} s", model=model
            ) from None
        if status != 200:
            reason = clean_reason(_error_text(body))
            raise ModelLoadFailed(
                f"Triton did not {verb} '{model}': {reason}", model=model, cause=reason
            )

    def _json(self, method: str, path: str) -> Any:
        try:
            status, body = self.call(method, path)
            if status == 200:
                return json.loads(body)
            cause = clean_reason(_error_text(body))
        except TimeoutError:
            cause = f"no answer within {self._timeout:g} s"
        except ValueError:
            cause = "the answer is not JSON"
        raise ServerUnreachable(
            f"{self.address}{path} answered unexpectedly: {cause}", address=self.address
        )


def _error_text(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return shown(body)


def shown(answer: bytes | str) -> str:
    """The head of what a stranger sent, quoted: it may hold anything, control codes too."""
    text = answer if isinstance(answer, str) else answer.decode(errors="replace")
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def _connection_fault(error: Exception, address: str) -> str:
    if isinstance(error, ConnectionRefusedError):
        return f"Nothing listens at {address} (connection refused)"
    if isinstance(error, ConnectionError):
        return f"What listens at {address} closed the connection ({error})"
    if isinstance(error, http.client.HTTPException):
        return f"What listens at {address} is not Triton (it answers {shown(str(error))})"
    return f"{address} cannot be reached ({error})"
