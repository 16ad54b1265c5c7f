"""Logging set-up, shared by every server: one JSON or text line an event, to stderr or stdout."""

import contextlib
import logging
import sys
from typing import Literal, TextIO, cast

import structlog


class LogStream:
    """A stream that loses lines rather than fail.

    Where logs go to a file, a full disk must not end the work that is logged.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes what can be written."""
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flushes what can be flushed."""
        with contextlib.suppress(OSError):
            self._stream.flush()


def configure_logging(
    level: str = "INFO",
    style: Literal["json", "text"] = "json",
    stream: TextIO = sys.stdout,
) -> None:
    """Sets structlog and the standard library up once, at process start.

    Context bound with `structlog.contextvars` (run id, request id) is in every line.
    What cannot be written, as on a full disk, is dropped.
    """
    lines = LogStream(stream)
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if style == "json"
        else structlog.dev.ConsoleRenderer(colors=stream.isatty())
    )
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        logger_factory=structlog.PrintLoggerFactory(file=cast(TextIO, lines)),
    )
    handler = logging.StreamHandler(lines)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processor=renderer)
    )
    logging.basicConfig(level=level, handlers=[handler], force=True)
