import os
from pathlib import Path

import pytest

from lookbench_evaluator.benchmarks import files
from lookbench_inference.errors import ItemUnreadable


def reason(path: str, folder: Path) -> str:
    with pytest.raises(ItemUnreadable) as caught:
        files.read_item_file(path, folder, folder)
    return caught.value.row_reason


def test_a_large_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 3)
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "b").write_bytes(b"abcd")
    assert files.read_item_file("a", tmp_path, tmp_path) == b"abc"
    assert reason("b", tmp_path) == "FILE_TOO_LARGE"


def test_a_pipe_is_no_file_and_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert reason("pipe", tmp_path) == "FILE_MISSING"


def test_a_name_that_no_file_can_have_is_missing(tmp_path: Path) -> None:
    assert reason("x" * 5000, tmp_path) in ("FILE_MISSING", "FILE_UNREADABLE")


def test_a_failing_read_rejects_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"abc")

    def fail(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", fail)
    assert reason("a", tmp_path) == "FILE_UNREADABLE"
