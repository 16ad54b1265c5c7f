import resource
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from lookbench_evaluator.benchmarks import stored_files
from lookbench_evaluator.benchmarks.source import Row
from lookbench_evaluator.benchmarks.stored_files import CollectionWriter
from lookbench_evaluator.errors import StoreUnavailable


def row(number: int, content: bytes | str = b"x", **labels: str) -> Row:
    return Row(number, f"id{number}", content, labels)


def test_columns_are_those_of_the_format(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    time = datetime(2025, 12, 1, tzinfo=UTC)
    with CollectionWriter(path, "image", ("colour", "size")) as writer:
        writer.add(Row(0, "007", b"x", {"colour": "red"}, "g", time), "sha256:0")
    assert pq.read_table(path).to_pylist() == [
        {
            "id": "007",
            "image": {"bytes": b"x", "path": None},
            "content_digest": "sha256:0",
            "group": "g",
            "time": time,
            "label_colour": "red",
            "label_size": None,
        }
    ]


def test_texts_stand_in_a_column_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    with CollectionWriter(path, "text", ()) as writer:
        writer.add(row(0, "süß"), "sha256:0")
    assert pq.read_table(path)["text"].to_pylist() == ["süß"]


def test_an_empty_collection_has_its_columns(tmp_path: Path) -> None:
    with CollectionWriter(tmp_path / "c.parquet", "text", ("a",)):
        pass
    table = pq.read_table(tmp_path / "c.parquet")
    assert table.num_rows == 0
    assert "label_a" in table.column_names


def test_row_groups_are_cut_by_content_and_by_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_files, "GROUP_BYTES", 100)
    monkeypatch.setattr(stored_files, "GROUP_ROWS", 4)
    path = tmp_path / "c.parquet"
    with CollectionWriter(path, "image", ()) as writer:
        for number in range(5):
            writer.add(row(number), "sha256:0")
        for number in range(5, 8):
            writer.add(row(number, b"y" * 60), "sha256:0")
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
    # Four rows are a group; 1 + 60 + 60 bytes pass 100; one row is left.
    assert groups == [4, 3, 1]


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file may grow beyond 64 KiB: to the program that looks like a full disk."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limit[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)


@pytest.mark.usefixtures("small_files")
def test_a_full_disk_is_named_with_the_next_step(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).bytes(1 << 18)
    with (
        pytest.raises(StoreUnavailable, match=r"cannot write .*c\.parquet: .*; free space there"),
        CollectionWriter(tmp_path / "c.parquet", "image", ()) as writer,
    ):
        writer.add(row(0, noise), "sha256:0")
