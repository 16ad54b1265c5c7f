import logging
import warnings

import pytest

from lookbench_exporter.quiet import quiet


def test_warnings_and_log_lines_are_dropped_within_and_only_there(caplog):
    with quiet():
        warnings.warn("inside", stacklevel=1)
        logging.getLogger("torch.onnx").warning("inside")
        logging.getLogger("torch.onnx").error("kept")
    logging.getLogger("torch.onnx").warning("outside")
    assert [record.message for record in caplog.records] == ["kept", "outside"]
    with pytest.warns(UserWarning, match="outside"):
        warnings.warn("outside", stacklevel=1)
