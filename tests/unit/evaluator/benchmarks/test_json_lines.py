import gzip
from pathlib import Path

import pytest

from lookbench_evaluator.benchmarks.json_lines import parse_object, read_lines
from lookbench_evaluator.errors import BenchmarkInvalid


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_lines_keep_their_numbers(tmp_path: Path, name: str) -> None:
    data = b"\xef\xbb\xbfone\r\n\n  \ntwo \xe2\x80\xa8 still two\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert list(read_lines(path)) == [(1, b"one"), (4, b"two \xe2\x80\xa8 still two")]


def test_a_cut_gzip_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"line\n" * 1000)[:-12])
    with pytest.raises(BenchmarkInvalid, match=r"a\.jsonl\.gz cannot be read to its end"):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"a": ', "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"a": "\xff"}', "not UTF-8: .* at byte 7"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_what_is_wrong_with_a_line_is_said(line: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_object(line)
