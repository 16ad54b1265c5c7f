"""One tritonserver process, from start to end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lookbench_triton import tether
from lookbench_triton.processes import end_group
from lookbench_triton.server_log import LogPump
from lookbench_triton.shared_memory import remove_regions

POLL_S = 0.05


class ServerProcess:
    """The server in a process group of its own, which ends when this process ends."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], folder: Path, shm_prefix: str
    ) -> None:
        """Starts it. `folder` becomes its current folder: the stubs import from there first."""
        self._shm_prefix = shm_prefix
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", tether.__file__, str(os.getpid()), *command],
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            restore_signals=False,  # leaves SIGPIPE ignored: our death must not break its exit
            start_new_session=True,  # Ctrl-C reaches the supervisor alone
        )
        self._log = LogPump(self._process.stdout or ())

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._process.pid

    def exit_text(self) -> str | None:
        """How it ended, for people; None while it runs."""
        code = self._process.poll()
        if code is None:
            return None
        if code < 0:
            return f"ended by signal {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def log_tail(self) -> str:
        """The last lines of its log."""
        return self._log.tail(wait=0.5)

    def stop(self, grace: float, hurry: Callable[[], bool] = lambda: False) -> None:
        """SIGTERM, then SIGKILL after `grace` seconds or once `hurry()`; nothing is left."""
        if self._process.poll() is None:
            self._process.terminate()
        deadline = time.monotonic() + grace
        while self._process.poll() is None and time.monotonic() < deadline and not hurry():
            time.sleep(POLL_S)
        self.clean_up()

    def clean_up(self) -> None:
        """Ends what still runs of the server and its stubs, and frees their shared memory."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        end_group(self._process.pid)
        remove_regions(self._shm_prefix)
        self._log.tail()
        if self._process.stdout:
            self._process.stdout.close()
