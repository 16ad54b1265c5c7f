import onnxruntime

from lookbench_exporter.libraries import exporter_versions, installed


def test_the_first_installed_name_counts():
    assert installed("not-installed-here", "onnxruntime") == onnxruntime.__version__
    assert installed("not-installed-here") == "unknown"


def test_a_manifest_names_everything_that_made_the_graph():
    versions = exporter_versions()
    assert set(versions) == {"lookbench-services", "torch", "onnx", "onnxscript", "onnxruntime"}
    assert "unknown" not in versions.values()
