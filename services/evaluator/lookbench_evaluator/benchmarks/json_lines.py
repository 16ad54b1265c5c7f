"""JSON lines, plain or gzip-compressed: one object a line."""

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from lookbench_evaluator.errors import BenchmarkInvalid

_MARK = b"\xef\xbb\xbf"


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(line number from 1, line without its end), blank lines skipped, byte order mark removed.

    Raises BenchmarkInvalid naming the file when it cannot be read to its end.
    """
    with _file_errors(path), _opened(path) as file:
        for number, line in enumerate(file, start=1):
            text = line.removeprefix(_MARK) if number == 1 else line
            if text.strip():
                yield number, text.rstrip(b"\r\n")


def parse_object(line: bytes) -> dict[str, Any]:
    """The object of a line. Raises ValueError saying what is wrong."""
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _opened(path: Path) -> BufferedIOBase:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise BenchmarkInvalid(
            f"{path} cannot be read to its end: {error}; fetch it again", path=path
        ) from None
