from pathlib import Path

import pytest

from lookbench_evaluator.benchmarks.staging import remove_leftovers, staged
from lookbench_evaluator.errors import StoreUnavailable


def test_the_folder_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "new" / "benchmark"
    with staged(target) as folder:
        (folder / "file").write_text("content")
        assert not target.exists()
    assert (target / "file").read_text() == "content"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_an_error_nothing_is_left(tmp_path: Path, error: type[BaseException]) -> None:
    def fail() -> None:
        with staged(tmp_path / "benchmark") as folder:
            (folder / "file").write_text("content")
            raise error

    with pytest.raises(error):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with (
        pytest.raises(StoreUnavailable, match=r"cannot write .*/file: .*; free space there"),
        staged(tmp_path / "file" / "benchmark"),
    ):
        pass


def test_a_target_that_came_to_be_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "benchmark"

    def collide() -> None:
        with staged(target):
            target.mkdir()
            (target / "other").write_text("other")

    with pytest.raises(StoreUnavailable, match="cannot write"):
        collide()
    assert [path.name for path in tmp_path.iterdir()] == ["benchmark"]
    assert (target / "other").exists()


def test_leftovers_of_killed_imports_are_removed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".a.importing-12345678" / "collections").mkdir(parents=True)
    (tmp_path / "a").mkdir()
    (tmp_path / ".hidden").mkdir()
    assert remove_leftovers(tmp_path) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden", "a"]
    assert remove_leftovers(tmp_path / "absent") == 0
