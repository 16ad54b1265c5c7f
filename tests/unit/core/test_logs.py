"""Logging: lines that cannot be written are lost, and nothing else."""

import io
import logging

import pytest
import structlog

from lookbench_core.logs import configure_logging


class FullDisk(io.StringIO):
    """Takes nothing."""

    def write(self, text):
        raise OSError(28, "No space left on device")


@pytest.fixture(autouse=True)
def as_before():
    yield
    structlog.reset_defaults()
    logging.basicConfig(force=True)


@pytest.mark.parametrize("style", ["json", "text"])
def test_lines_reach_the_stream(style):
    stream = io.StringIO()
    configure_logging("INFO", style, stream)
    structlog.get_logger().info("event", run_id="a")
    logging.getLogger("library").warning("said")
    assert "event" in stream.getvalue()
    assert "said" in stream.getvalue()


def test_a_full_disk_does_not_end_what_is_logged(capsys):
    configure_logging("INFO", "json", FullDisk())
    structlog.get_logger().error("event")
    logging.getLogger("library").error("said")
    assert capsys.readouterr() == ("", "")
