import errno
import fcntl
import os
from pathlib import Path

import pytest

from lookbench_exporter import repository as module
from lookbench_exporter.errors import ExportRefused, RepositoryUnwritable
from lookbench_exporter.repository import check_writable, publish, staging


def fill(folder: Path, text: str) -> None:
    (folder / "1").mkdir()
    (folder / "1" / "model.onnx").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_model_appears_whole(tmp_path):
    with staging(tmp_path, "m") as folder:
        fill(folder, "new")
        assert not (tmp_path / "m").exists()
        publish(folder, tmp_path / "m")
    assert (tmp_path / "m" / "1" / "model.onnx").read_text() == "new"
    assert names(tmp_path) == ["m"]


@pytest.mark.parametrize("kernel_exchanges", [True, False])
def test_a_model_is_replaced_and_the_old_one_removed(tmp_path, monkeypatch, kernel_exchanges):
    if not kernel_exchanges:
        monkeypatch.setattr(module, "_exchange", module._exchange_in_steps)
    (tmp_path / "m").mkdir()
    fill(tmp_path / "m", "old")
    (tmp_path / "m" / "left-over").write_text("old")
    with staging(tmp_path, "m") as folder:
        fill(folder, "new")
        assert (tmp_path / "m" / "1" / "model.onnx").read_text() == "old"
        publish(folder, tmp_path / "m")
    assert (tmp_path / "m" / "1" / "model.onnx").read_text() == "new"
    assert names(tmp_path / "m") == ["1"]
    assert names(tmp_path) == ["m"]


def write_half(repository: Path, error: BaseException) -> None:
    with staging(repository, "m") as folder:
        fill(folder, "half")
        raise error


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (ExportRefused("parity", "no"), ExportRefused),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (OSError(errno.ENOSPC, "No space left on device", "f"), RepositoryUnwritable),
    ],
)
def test_a_failure_leaves_what_was_there(tmp_path, error, seen):
    (tmp_path / "m").mkdir()
    fill(tmp_path / "m", "old")
    with pytest.raises(seen):
        write_half(tmp_path, error)
    assert names(tmp_path) == ["m"]
    assert (tmp_path / "m" / "1" / "model.onnx").read_text() == "old"


def test_a_failed_second_step_brings_the_old_model_back(tmp_path):
    old = tmp_path / "m"
    old.mkdir()
    fill(old, "old")
    with pytest.raises(FileNotFoundError):
        module._exchange_in_steps(tmp_path / "absent", old)
    assert (old / "1" / "model.onnx").read_text() == "old"


def test_the_staging_folder_is_not_taken_for_a_model(tmp_path):
    with staging(tmp_path, "m") as folder:
        (folder / "config.pbtxt").write_text("")
        assert list(tmp_path.glob("*/config.pbtxt")) == []


def test_leavings_of_a_killed_export_are_removed_and_a_running_one_is_left_alone(tmp_path):
    for name in ("dead", "alive"):
        (tmp_path / f".staging-{name}" / "m").mkdir(parents=True)
    descriptor = os.open(tmp_path / ".staging-alive", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with staging(tmp_path, "m"):
        pass
    os.close(descriptor)
    assert names(tmp_path) == [".staging-alive"]


def test_published_folders_can_be_read_by_another_user(tmp_path):
    with staging(tmp_path, "m") as folder:
        fill(folder, "new")
        publish(folder, tmp_path / "m")
    assert (tmp_path / "m").stat().st_mode & 0o055 == 0o055


def test_a_repository_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RepositoryUnwritable, match="file"):
        check_writable(tmp_path / "file")


def test_checking_makes_the_repository_and_leaves_it_empty(tmp_path):
    check_writable(tmp_path / "a" / "b")
    assert names(tmp_path / "a" / "b") == []
