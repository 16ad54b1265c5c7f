from pathlib import Path

import pytest

from lookbench_evaluator.benchmarks.image_cell import read_cell
from lookbench_inference.errors import ItemUnreadable


def test_every_form_of_a_cell_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"from the file")
    for cell in (
        b"inline",
        {"bytes": b"inline", "path": None},
        {"bytes": b"inline", "path": "a.png"},  # bytes come first
        {"bytes": b"inline"},
    ):
        assert read_cell(cell, tmp_path, tmp_path) == b"inline"
    for cell in ("a.png", {"bytes": None, "path": "a.png"}, {"path": "a.png"}):
        assert read_cell(cell, tmp_path, tmp_path) == b"from the file"


@pytest.mark.parametrize("cell", [None, "", {"bytes": None, "path": None}, {}, {"path": ""}])
def test_a_cell_with_neither_is_missing_content(tmp_path: Path, cell: object) -> None:
    with pytest.raises(ItemUnreadable) as caught:
        read_cell(cell, tmp_path, tmp_path)
    assert caught.value.row_reason == "CONTENT_MISSING"


def test_a_path_may_leave_its_folder_but_not_the_source(tmp_path: Path) -> None:
    inner = tmp_path / "source" / "subset"
    inner.mkdir(parents=True)
    (tmp_path / "source" / "a.png").write_bytes(b"inside")
    (tmp_path / "b.png").write_bytes(b"outside")
    assert read_cell("../a.png", inner, tmp_path / "source") == b"inside"
    with pytest.raises(ItemUnreadable) as caught:
        read_cell("../../b.png", inner, tmp_path / "source")
    assert caught.value.row_reason == "PATH_OUTSIDE_SOURCE"


def test_empty_bytes_are_content_and_fail_later(tmp_path: Path) -> None:
    assert read_cell({"bytes": b"", "path": "a.png"}, tmp_path, tmp_path) == b""
