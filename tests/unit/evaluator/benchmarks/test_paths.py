from pathlib import Path

import pytest

from lookbench_evaluator.benchmarks.paths import confine
from lookbench_evaluator.errors import PathOutsideRoot


def test_a_relative_path_stands_below_the_first_root(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    assert confine("x/y", [first, second]) == first.resolve() / "x/y"


def test_an_absolute_path_may_lie_in_any_root(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    assert confine(second / "x", [first, second]) == second.resolve() / "x"
    assert confine(second, [first, second]) == second.resolve()


@pytest.mark.parametrize("path", ["..", "../other", "x/../../other", "/etc/passwd", "../a-sibling"])
def test_paths_that_leave_the_root_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(PathOutsideRoot, match="lies outside"):
        confine(path, [tmp_path / "a"])


def test_a_link_that_leaves_the_root_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "in").symlink_to(root / "real")
    with pytest.raises(PathOutsideRoot):
        confine("out/secret", [root])
    assert confine("in/file", [root]) == root.resolve() / "real/file"


def test_a_root_may_itself_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert confine("x", [tmp_path / "link"]) == (tmp_path / "real").resolve() / "x"


def test_loops_and_zero_bytes_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(PathOutsideRoot, match="cannot be resolved"):
        confine("loop", [tmp_path])
    with pytest.raises(PathOutsideRoot, match=r"^options\.csv: .*cannot be resolved"):
        confine("a\0b", [tmp_path], field="options.csv")
