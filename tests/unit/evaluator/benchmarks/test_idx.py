import gzip
import struct
from pathlib import Path

import pytest

from lookbench_evaluator.benchmarks.idx import IdxFile
from lookbench_evaluator.errors import BenchmarkInvalid


def header(*shape: int, kind: int = 8) -> bytes:
    return struct.pack(">HBB", 0, kind, len(shape)) + struct.pack(f">{len(shape)}I", *shape)


@pytest.mark.parametrize("end", ["", ".gz"])
def test_records_come_in_file_order(tmp_path: Path, end: str) -> None:
    path = tmp_path / f"images{end}"
    data = header(3, 2, 2) + bytes(range(12))
    path.write_bytes(gzip.compress(data) if end else data)
    file = IdxFile.open(path, 3)
    assert file.shape == (3, 2, 2)
    assert list(file.records(2)) == [bytes([0, 1, 2, 3]), bytes([4, 5, 6, 7])]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "ends within its header, after 0 bytes"),
        (header(3, 2, 2)[:10], "ends within its header"),
        (b"\x89PNG" + bytes(20), "not as an IDX file"),
        (header(3, 2, 2, kind=0x0D) + bytes(48), "not as an IDX file"),
        (header(12) + bytes(12), "has 1 dimensions, not 3"),
        (header(0, 2, 2), "is empty"),
        (header(3, 2, 2) + bytes(11), "holds 11 bytes of data, its header promises 12"),
        (header(3, 2, 2) + bytes(13), "holds 13 bytes of data, its header promises 12"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_named(
    tmp_path: Path, data: bytes, problem: str
) -> None:
    path = tmp_path / "images"
    path.write_bytes(data)
    with pytest.raises(BenchmarkInvalid, match=problem) as caught:
        IdxFile.open(path, 3)
    assert str(path) in caught.value.message


@pytest.mark.parametrize("cut", [5, -9])
def test_a_cut_or_altered_gzip_file_is_named(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(header(3, 2, 2) + bytes(12))[:cut])
    with pytest.raises(BenchmarkInvalid, match="cannot be read"):
        IdxFile.open(path, 3)


def test_a_gzip_file_with_a_wrong_checksum_is_named(tmp_path: Path) -> None:
    path = tmp_path / "images.gz"
    data = bytearray(gzip.compress(header(3, 2, 2) + bytes(12)))
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(BenchmarkInvalid, match="cannot be read"):
        IdxFile.open(path, 3)


def test_a_plain_file_named_gz_is_named(tmp_path: Path) -> None:
    path = tmp_path / "images.gz"
    path.write_bytes(header(3, 2, 2) + bytes(12))
    with pytest.raises(BenchmarkInvalid, match="cannot be read"):
        IdxFile.open(path, 3)
