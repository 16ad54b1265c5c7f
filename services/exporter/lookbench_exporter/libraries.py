"""Versions of installed libraries."""

from importlib.metadata import PackageNotFoundError, version


def installed(*names: str) -> str:
    """Version of the first of `names` that is installed, `unknown` when none is."""
    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "unknown"


def exporter_versions() -> dict[str, str]:
    """Library → version of everything that made a graph, for its manifest."""
    names = ("lookbench-services", "torch", "onnx", "onnxscript")
    runtime = installed("onnxruntime", "onnxruntime-gpu")
    return {**{name: installed(name) for name in names}, "onnxruntime": runtime}
