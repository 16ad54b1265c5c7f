from pathlib import Path

import pytest

from lookbench_evaluator.benchmarks.qrels_file import QrelsFile
from lookbench_evaluator.errors import BenchmarkInvalid


def read(tmp_path: Path, text: str | bytes) -> QrelsFile:
    path = tmp_path / "test.tsv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return QrelsFile.read(path)


def test_rows_have_their_line_and_ids_stay_strings(tmp_path: Path) -> None:
    qrels = read(tmp_path, "query-id\tcorpus-id\tscore\n007\t1e3\t2\n7\t01\t0\n")
    assert qrels.rows == ((2, "007", "1e3", 2.0), (3, "7", "01", 0.0))


def test_a_file_without_header_loses_no_row(tmp_path: Path) -> None:
    assert read(tmp_path, "q\td\t1\n").rows == ((1, "q", "d", 1.0),)


def test_grades_below_zero_are_zero_and_counted(tmp_path: Path) -> None:
    qrels = read(tmp_path, "q\td\t-1\nq\te\t1\n")
    assert qrels.rows == ((1, "q", "d", 0.0), (2, "q", "e", 1.0))
    assert qrels.negative == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("h\th\th\nq d 1\n", "line 2 has 1 fields"),
        ("h\th\th\nq\t0\td\t1\n", "line 2 has 4 fields"),
        ("h\th\th\nq\td\tgood\n", "line 2 has the grade b'good'"),
        ("h\th\th\nq\td\tnan\n", "line 2 has the grade b'nan', not a finite"),
        ("h\th\th\nq\td\tinf\n", "not a finite"),
        ("h\th\th\n\td\t1\n", "line 2 lacks an id"),
        (b"h\th\th\n\xff\td\t1\n", "line 2 is not UTF-8"),
    ],
)
def test_a_judgement_that_cannot_be_read_is_an_error(
    tmp_path: Path, text: str | bytes, problem: str
) -> None:
    with pytest.raises(BenchmarkInvalid, match=problem) as caught:
        read(tmp_path, text)
    assert "test.tsv" in caught.value.message
