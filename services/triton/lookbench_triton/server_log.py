"""Triton's log lines as structured events."""

import re
import threading
from collections import deque
from collections.abc import Iterable

import structlog

LINE = re.compile(
    r'(?P<level>[IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ \d+ (?P<place>[\w.]+:\d+)\] *"?(?P<text>.*?)"?$'
)
LEVELS = {"I": "info", "W": "warning", "E": "error", "F": "critical"}
TAIL_LINES = 15
EXPECTED_ERRORS = ("CudaDriverHelper has not been initialized.",)  # there is no GPU to drive


def parse_line(line: str) -> tuple[str, str]:
    """(level, text) of one line; lines of other forms are info as they stand."""
    match = LINE.match(line)
    if not match:
        return "info", line
    if match["text"] in EXPECTED_ERRORS:
        return "debug", match["text"]
    return LEVELS[match["level"]], match["text"]


class LogPump:
    """Forwards a process' output, line by line, and remembers the last lines."""

    def __init__(self, output: Iterable[str], source: str = "tritonserver") -> None:
        self._log = structlog.get_logger().bind(source=source)
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._thread = threading.Thread(target=self._run, args=(output,), daemon=True)
        self._thread.start()

    def tail(self, wait: float = 1.0) -> str:
        """The last lines that say something; waits for the end of the output up to `wait` s."""
        self._thread.join(wait)
        return "\n".join(self._tail)

    def _run(self, output: Iterable[str]) -> None:
        for raw in output:
            line = raw.rstrip()
            if line and line[0] not in "|+":  # Triton's tables repeat what its lines say
                self._forward(line)

    def _forward(self, line: str) -> None:
        level, text = parse_line(line)
        if text:  # the heading of a table has none
            self._tail.append(line)
            getattr(self._log, level)(text)
