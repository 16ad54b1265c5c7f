"""A graph file under ONNX Runtime, as a server runs it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lookbench_exporter.errors import ExportRefused
from lookbench_exporter.sources import missing_library

_ERRORS_ONLY = 3


@contextmanager
def _refused_as(check: str, what: object) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the runtime's types are not importable without it
        raise ExportRefused(check, f"ONNX Runtime failed on {what}: {error}", what=what) from error


class GraphSession:
    """A graph on CPU, loaded from its file, so that its weight files are found too."""

    def __init__(self, path: Path, output: str) -> None:
        """Raises ExportRefused when the runtime does not accept the file."""
        try:
            import onnxruntime
        except ImportError as error:
            raise missing_library(error) from error
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _ERRORS_ONLY
        self._output = output
        with _refused_as("load", path):
            self._session = onnxruntime.InferenceSession(
                path, options, providers=["CPUExecutionProvider"]
            )

    def run(self, feeds: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float32]:
        """One batch; the output as the graph gives it. Raises ExportRefused."""
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in feeds.items())
        with _refused_as("run", shapes):
            answer: npt.NDArray[np.float32] = self._session.run([self._output], dict(feeds))[0]
        return answer
