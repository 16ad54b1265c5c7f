from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookbench_evaluator.benchmarks.parquet_table import ParquetTable, open_streaming
from lookbench_evaluator.benchmarks.source import Row
from lookbench_evaluator.benchmarks.stored_files import CollectionWriter
from lookbench_evaluator.errors import BenchmarkInvalid

COLUMNS = {"image": "image", "id": "id", "name": "text"}
STRUCT = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def write(path: Path, **columns: pa.Array) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def columns(**changes: pa.Array) -> dict[str, pa.Array]:
    plain = {
        "image": pa.array([{"bytes": b"x", "path": None}], STRUCT),
        "id": pa.array(["007"]),
        "name": pa.array(["a"]),
    }
    return {**plain, **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"image": pa.array([b"x"])},
        {"image": pa.array([b"x"], pa.large_binary())},
        {"image": pa.array(["a.png"])},
        {"image": pa.array([{"path": "a.png"}])},
        {"image": pa.array([{"bytes": None, "path": "a.png"}])},
        {"id": pa.array([7], pa.int32())},
        {"name": pa.array([None])},
        {"name": pa.array(["a"]).dictionary_encode()},
        {"name": pa.array(["a"], pa.large_string())},
    ],
)
def test_usable_types_pass(tmp_path: Path, changes: dict[str, pa.Array]) -> None:
    path = write(tmp_path / "t.parquet", **columns(**changes))
    assert len(list(ParquetTable.open([path], COLUMNS).rows(list(COLUMNS)))) == 1


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"image": pa.array([1])}, "column 'image' has type int64, expected a struct of bytes"),
        ({"image": pa.array([{"x": 1}])}, "column 'image' has type struct<x: int64>"),
        ({"image": pa.array([{"bytes": "s", "path": "p"}])}, "column 'image' has type struct"),
        ({"image": pa.array([[b"x"]])}, "column 'image' has type list"),
        ({"id": pa.array([7.0])}, "column 'id' has type double, expected string or integer"),
        ({"name": pa.array([7])}, "column 'name' has type int64, expected string"),
    ],
)
def test_a_wrong_type_is_named_with_file_and_column(
    tmp_path: Path, changes: dict[str, pa.Array], problem: str
) -> None:
    path = write(tmp_path / "t.parquet", **columns(**changes))
    with pytest.raises(BenchmarkInvalid, match=problem) as caught:
        ParquetTable.open([path], COLUMNS)
    assert str(path) in caught.value.message


def test_a_missing_column_lists_those_there(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", id=pa.array(["1"]), name=pa.array(["a"]))
    with pytest.raises(BenchmarkInvalid, match="lacks the column 'image'; it has: id, name"):
        ParquetTable.open([path], COLUMNS)


@pytest.mark.parametrize("data", [b"", b"no parquet at all", b"PAR1" + bytes(50) + b"PAR1"])
def test_a_file_that_is_no_parquet_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(data)
    with pytest.raises(BenchmarkInvalid, match=r"t\.parquet is not a readable parquet file"):
        ParquetTable.open([path], COLUMNS)


def test_damage_within_the_pages_is_named_when_it_is_met(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", **columns())
    data = bytearray(path.read_bytes())
    data[4:40] = b"\xff" * 36  # the first page header; the footer stays whole
    path.write_bytes(data)
    table = ParquetTable.open([path], COLUMNS)
    with pytest.raises(BenchmarkInvalid, match=r"t\.parquet is not a readable"):
        list(table.rows(["image"]))


def test_text_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff\xfe"]).buffers())
    path = write(tmp_path / "t.parquet", **columns(name=broken))
    with pytest.raises(BenchmarkInvalid, match=r"t\.parquet"):
        list(ParquetTable.open([path], COLUMNS).rows(["name"]))


def test_positions_run_on_over_files_and_batches(tmp_path: Path) -> None:
    first = write(tmp_path / "a.parquet", id=pa.array([f"a{n}" for n in range(150)]))
    second = write(tmp_path / "b.parquet", id=pa.array(["b0", "b1"]))
    rows = list(ParquetTable.open([first, second], {"id": "id"}).rows(["id"]))
    assert [position for position, _, _ in rows] == list(range(152))
    assert rows[149] == (149, first, {"id": "a149"})
    assert rows[151] == (151, second, {"id": "b1"})


def test_a_stored_collection_is_read_a_few_megabytes_at_a_time(tmp_path: Path) -> None:
    path, noise = tmp_path / "c.parquet", np.random.default_rng(0)
    with CollectionWriter(path, "image", ()) as writer:
        for number in range(30):
            writer.add(Row(number, str(number), noise.bytes(1 << 20), {}), "sha256:0")
    before = pa.total_allocated_bytes()
    with open_streaming(path) as file:
        for batch in file.iter_batches(1, columns=["image.bytes"]):
            assert pa.total_allocated_bytes() - before < 16 << 20  # of 30 MiB in one row group
            del batch
