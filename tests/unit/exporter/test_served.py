import numpy as np
import pytest

from lookbench_exporter.errors import ExportRefused
from lookbench_exporter.served import GraphSession


def test_a_file_that_is_no_graph_is_refused(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(ExportRefused, match="load: ONNX Runtime failed"):
        GraphSession(tmp_path / "model.onnx", "embedding")


def test_a_failed_batch_is_refused_with_its_shapes(lite0):
    session = GraphSession(lite0.folder / "1" / "model.onnx", "embedding")
    with pytest.raises(ExportRefused, match=r"pixels \[1, 2, 2, 3\]"):
        session.run({"pixels": np.zeros((1, 2, 2, 3), np.uint8)})
