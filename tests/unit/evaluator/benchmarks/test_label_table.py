from pathlib import Path

import pytest

from lookbench_evaluator.benchmarks.label_table import LabelTable
from lookbench_evaluator.errors import BenchmarkInvalid


def read(tmp_path: Path, data: str | bytes) -> LabelTable:
    path = tmp_path / "labels.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return LabelTable.read(path)


def test_other_columns_are_labels_and_values_stay_strings(tmp_path: Path) -> None:
    table = read(tmp_path, "id,path,split,group,category,size\n007,a.png,query,g,dress,36\n")
    assert table.labels == ("category", "size")
    assert table.records[0].values["id"] == "007"
    assert table.records[0].values["size"] == "36"


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    table = read(tmp_path, "\ufeffid,path,split,c\n1,a.png,item,x\n")
    assert table.records[0]["id"] == "1"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_are_counted_over_quoted_line_ends_and_blank_lines(tmp_path: Path, end: str) -> None:
    text = f'id,path,split,c{end}1,a.png,item,"two{end}lines"{end}{end}2,b.png,item,x{end}'
    assert [record.line for record in read(tmp_path, text).records] == [2, 5]


def test_an_absent_optional_column_reads_as_empty(tmp_path: Path) -> None:
    record = read(tmp_path, "id,path,split,c\n1,a.png,item,x\n").records[0]
    assert (record["subset"], record["group"], record["time"]) == ("", "", "")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("", "is empty; its first line names the columns"),
        ("\n\n", "is empty"),
        ("id,path\n", "lacks the column 'split'; it has: id, path"),
        ("id,path,split,c,c\n", "column 'c' that is repeated"),
        ("id,path,split,\n", "column '' that is repeated or unnamed"),
        ("id,path,split\n1,a.png\n", "line 2 has 2 fields, the header 3"),
        ("id,path,split\n1,a.png,item,x\n", "line 2 has 4 fields, the header 3; quote commas"),
        ("id,path,split\n1,a.png,train\n", "line 2: split 'train' is neither query nor item"),
        ('id,path,split\n1,"a"b.png,item\n', "is not CSV"),
        ("id,path,split\n1,größe.png,item\n".encode("latin-1"), "is not UTF-8: .* at byte 18"),
        ("id,path,split\n1,a.png,item\n".encode("utf-16"), "is not UTF-8"),
    ],
)
def test_a_bad_table_is_refused_with_file_and_place(
    tmp_path: Path, data: str | bytes, problem: str
) -> None:
    with pytest.raises(BenchmarkInvalid, match=problem) as caught:
        read(tmp_path, data)
    assert "labels.csv" in caught.value.message
