"""Tables with marks, foreign line ends, nothing in them or damage, from every format."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.benchmarks.readers import open_source
from lookbench_evaluator.errors import BenchmarkInvalid

Folder = Callable[..., Path]
Imported = Callable[..., StoredBenchmark]

MARK = b"\xef\xbb\xbf"
TABLE = 'id,path,split,kind\nq,a.png,query,x\ni,b.png,item,"x"\n'
CORPUS = '{"_id": "d1", "title": "red", "text": "dress"}\n{"_id": "d2", "text": "blue"}\n'
QUERIES = '{"_id": "q1", "text": "a dress"}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t1\n"


def otherwise(data: bytes) -> bytes:
    """With a byte order mark and line ends of Windows, none at the end."""
    return MARK + data.rstrip(b"\n").replace(b"\n", b"\r\n")


def test_a_mark_and_foreign_line_ends_change_nothing_in_a_csv_file(
    image_folder: Folder, imported: Imported
) -> None:
    plain = imported("image-folder", image_folder(TABLE), name="plain")
    marked = imported("image-folder", image_folder(otherwise(TABLE.encode())), name="marked")
    assert marked.manifest.digest == plain.manifest.digest


@pytest.mark.parametrize("packed", [False, True])
def test_a_mark_and_foreign_line_ends_change_nothing_in_json_lines_and_judgements(
    beir_folder: Folder, imported: Imported, packed: bool
) -> None:
    folder = beir_folder(CORPUS, QUERIES, QRELS)
    plain = imported("beir", folder, name="plain")
    for path in sorted(folder.rglob("*.*")):
        data = otherwise(path.read_bytes())
        if packed and path.suffix == ".jsonl":
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(data))
            path.unlink()
        else:
            path.write_bytes(data)
    marked = imported("beir", folder, name="marked")
    assert marked.manifest.digest == plain.manifest.digest
    assert marked.rejected() == []


def test_a_mark_before_judgements_without_a_header_loses_none(
    beir_folder: Folder, imported: Imported
) -> None:
    folder = beir_folder(CORPUS, QUERIES, "")
    (folder / "qrels/test.tsv").write_bytes(MARK + b"q1\td1\t1\r\nq1\td2\t0\r\n")
    assert imported("beir", folder).qrels("relevance") == {"q1": {"d1": 1.0, "d2": 0.0}}


@pytest.mark.parametrize(
    ("corpus", "queries", "qrels", "problem"),
    [
        ("", QUERIES, QRELS, "subset 'all' has no usable item"),
        (CORPUS, "", QRELS, "subset 'all' has no usable query"),
        (CORPUS, QUERIES, "", "subset 'all' has no usable query"),
        (CORPUS, QUERIES, "query-id\tcorpus-id\tscore\n", "subset 'all' has no usable query"),
        ("\n\n", QUERIES, QRELS, "subset 'all' has no usable item"),
        ("text, no JSON\n", QUERIES, QRELS, "the first rejected is row 1, id '': LINE_UNREADABLE"),
        (CORPUS.encode("utf-16").decode("latin-1"), QUERIES, QRELS, "no usable item"),
    ],
)
def test_text_files_without_anything_usable_are_refused(
    beir_folder: Folder, imported: Imported, corpus: str, queries: str, qrels: str, problem: str
) -> None:
    folder = beir_folder(corpus, queries, qrels)
    with pytest.raises(BenchmarkInvalid, match=problem) as caught:
        imported("beir", folder)
    assert str(folder) in caught.value.message
    assert not (folder.parent / "store/imported").exists()


@pytest.mark.parametrize("table", ["", "\n", "id,path,split,kind\n", "id,path,split,kind\r\n\r\n"])
def test_a_csv_file_without_rows_is_refused(
    image_folder: Folder, imported: Imported, table: str
) -> None:
    with pytest.raises(BenchmarkInvalid, match=r"is empty|has no queries") as caught:
        imported("image-folder", image_folder(table))
    assert "folder" in caught.value.message


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
@pytest.mark.parametrize("damage", [lambda d: d[:-9], lambda d: d[:5] + d[6:], lambda d: b""])
def test_a_damaged_gzip_file_is_named(
    beir_folder: Folder, imported: Imported, name: str, damage: Callable[[bytes], bytes]
) -> None:
    """An empty file is no gzip file that was cut, but it holds nothing either."""
    folder = beir_folder(CORPUS, QUERIES, QRELS)
    data = gzip.compress((folder / name).read_bytes())
    (folder / name).unlink()
    (folder / f"{name}.gz").write_bytes(damage(data))
    with pytest.raises(BenchmarkInvalid, match=rf"{name}\.gz cannot be read|has no usable"):
        imported("beir", folder)


@pytest.fixture
def release(
    write_release: Folder, make_release_rows: Callable[..., pa.Table], make_picture: Folder
) -> Path:
    cells = [{"bytes": make_picture(n), "path": None} for n in range(3)]
    return write_release(
        {"s/query": make_release_rows(cells[:1]), "s/gallery": make_release_rows(cells)}
    )


def header_of_the_first_page(data: bytes) -> bytes:
    return data[:4] + b"\xff" * 36 + data[40:]


@pytest.mark.parametrize("file", ["query", "gallery"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"no parquet at all",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-4] + b"PAR9",
        lambda data: b"<html>404</html>" + data[16:-8] + b"</html>!",
        header_of_the_first_page,
    ],
    ids=["empty", "another kind", "cut", "wrong magic", "a page of the web", "damaged page"],
)
def test_a_damaged_parquet_file_is_named_and_nothing_is_left(
    release: Path, imported: Imported, file: str, damage: Callable[[bytes], bytes]
) -> None:
    path = release / f"v20251201/s/{file}.parquet"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(BenchmarkInvalid, match="is not a readable parquet file") as caught:
        imported("lookbench", release)
    assert str(path) in caught.value.message
    assert "fetch or import it again" in caught.value.message
    assert not (release.parent / "store/imported").exists()


@pytest.mark.parametrize(
    ("column", "values", "problem"),
    [
        ("item_ID", [1.0, 2.0, 3.0], "'item_ID' has type double, expected string or integer"),
        ("category", [["dress"], ["coat"], []], "'category' has type list"),
        ("main_attribute", [1, 2, 3], "'main_attribute' has type int64, expected string"),
        ("image", [1, 2, 3], "'image' has type int64, expected a struct of bytes and path"),
    ],
)
def test_a_column_of_a_wrong_type_is_refused_before_a_row_is_read(
    release: Path, column: str, values: list[object], problem: str
) -> None:
    path = release / "v20251201/s/gallery.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index(column)
    pq.write_table(table.set_column(at, column, pa.array(values)), path)
    with pytest.raises(BenchmarkInvalid, match=problem) as caught:
        open_source("lookbench", release, {})
    assert str(path) in caught.value.message


def test_images_given_as_strings_are_paths_and_missing_ones_rejected(
    release: Path, imported: Imported
) -> None:
    path = release / "v20251201/s/gallery.parquet"
    table = pq.read_table(path)
    content = table.column("image")[0].as_py()["bytes"]
    (path.parent / "there.png").write_bytes(content)
    names = pa.array(["there.png", "away.png", "../../../../etc/passwd"])
    pq.write_table(table.set_column(0, "image", names), path)
    stored = imported("lookbench", release)
    assert stored.collection("s-items").ids == ["s/g/000000"]
    assert [row.reason for row in stored.rejected()] == ["FILE_MISSING", "PATH_OUTSIDE_SOURCE"]


def test_a_parquet_file_without_rows_leaves_nothing_to_search(
    release: Path, imported: Imported
) -> None:
    path = release / "v20251201/s/gallery.parquet"
    pq.write_table(pq.read_table(path).slice(0, 0), path)
    with pytest.raises(BenchmarkInvalid, match="subset 's' has no usable item"):
        imported("lookbench", release)


def test_lines_that_are_no_objects_are_rejected_one_by_one(
    beir_folder: Folder, imported: Imported
) -> None:
    odd = ["[1, 2]", '"text"', "null", "7", "{", json.dumps({"_id": "x", "text": 5})]
    stored = imported("beir", beir_folder(CORPUS + "\n".join(odd), QUERIES, QRELS))
    assert [(row.row, row.reason) for row in stored.rejected()] == [
        (line, "LINE_UNREADABLE") for line in range(3, 9)
    ]
