"""Folders of runs: made when needed, gone when not."""

import pytest

from lookbench_evaluator.errors import StoreUnavailable
from lookbench_evaluator.runs.files import RunFiles


def test_a_folder_is_made_kept_and_removed(tmp_path):
    files = RunFiles(tmp_path / "runs")
    (files.folder("a") / "x").write_text("x")
    assert (files.folder("a") / "x").exists()
    files.remove("a")
    files.remove("a")
    assert not (tmp_path / "runs/a").exists()


def test_only_what_is_still_needed_stays(tmp_path):
    files = RunFiles(tmp_path / "runs")
    files.remove_others({"a"})
    for run_id in ("a", "b"):
        files.folder(run_id)
    files.remove_others({"a", "c"})
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["a"]


def test_a_folder_that_cannot_be_made_is_named_with_the_next_step(tmp_path):
    (tmp_path / "runs").write_text("a file in the way")
    with pytest.raises(StoreUnavailable, match=r"runs/a: .*then resume the run"):
        RunFiles(tmp_path / "runs").folder("a")
