from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookbench_core.benchmark import MANIFEST_NAME
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.errors import BenchmarkInvalid

TABLE = "id,path,split,group,time,c,d\nq1,a.png,query,g,2025-12-01,x,\n" + "".join(
    f"00{n},{name}.png,item,,,{'xy'[n % 2]},\n" for n, name in enumerate("bcdef")
)


@pytest.fixture
def stored(image_folder, imported) -> StoredBenchmark:
    return imported("image-folder", image_folder(TABLE), judgements="c")


def test_ids_labels_groups_and_times_come_without_contents(stored: StoredBenchmark) -> None:
    items = stored.collection("items")
    assert items.ids == ["000", "001", "002", "003", "004"]
    assert items.labels["c"].tolist() == ["x", "y", "x", "y", "x"]
    assert items.labels["d"].tolist() == [None] * 5
    assert items.modality == "image"
    assert len(items) == 5
    queries = stored.collection("queries")
    assert queries.groups == ["g"]
    assert queries.times[0].isoformat() == "2025-12-01T00:00:00+00:00"


def test_contents_come_in_batches_in_the_order_of_the_ids(
    stored: StoredBenchmark, image_folder: Callable[[str], Path]
) -> None:
    folder = image_folder(TABLE)
    batches = list(stored.contents("items", batch_rows=2))
    assert [(start, len(contents)) for start, contents in batches] == [(0, 2), (2, 2), (4, 1)]
    expected = [(folder / f"{name}.png").read_bytes() for name in "bcdef"]
    assert [content for _, contents in batches for content in contents] == expected


def test_a_sound_benchmark_verifies(stored: StoredBenchmark) -> None:
    stored.verify()
    StoredBenchmark.open(stored.folder).verify()


@pytest.mark.parametrize("name", ["collections/items.parquet", "rejected.parquet", MANIFEST_NAME])
def test_a_missing_file_is_named(stored: StoredBenchmark, name: str) -> None:
    (stored.folder / name).unlink()
    with pytest.raises(BenchmarkInvalid, match="import") as caught:
        StoredBenchmark.open(stored.folder)
    assert str(stored.folder / name) in caught.value.message


@pytest.mark.parametrize("name", ["collections/items.parquet", "rejected.parquet"])
def test_a_cut_file_is_named(stored: StoredBenchmark, name: str) -> None:
    path = stored.folder / name
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BenchmarkInvalid, match="not a readable parquet file") as caught:
        StoredBenchmark.open(stored.folder)
    assert str(path) in caught.value.message


def test_a_flipped_bit_in_a_picture_is_noticed_when_it_is_read(stored: StoredBenchmark) -> None:
    path = stored.folder / "collections/items.parquet"
    data = bytearray(path.read_bytes())
    pages = pq.read_metadata(path).row_group(0)
    column = next(
        pages.column(n) for n in range(pages.num_columns)
        if pages.column(n).path_in_schema == "image.bytes"
    )  # fmt: skip
    data[column.data_page_offset + column.total_compressed_size - 20] ^= 1
    path.write_bytes(data)
    opened = StoredBenchmark.open(stored.folder)  # the footer is whole
    with pytest.raises(BenchmarkInvalid, match=r"items\.parquet is not a readable"):
        list(opened.contents("items"))


def test_a_file_of_another_length_is_named(stored: StoredBenchmark) -> None:
    path = stored.folder / "collections/items.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(BenchmarkInvalid, match=r"items\.parquet has 4 rows, the manifest says 5"):
        StoredBenchmark.open(stored.folder)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"format_version": 1', '"format_version": 2', "format_version"),
        ('"digest"', '"diggest"', "digest: Field required"),
        ("{", "", "is not a benchmark manifest"),
    ],
)
def test_a_manifest_of_another_kind_is_named(
    stored: StoredBenchmark, old: str, new: str, problem: str
) -> None:
    path = stored.folder / MANIFEST_NAME
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(BenchmarkInvalid, match=problem) as caught:
        StoredBenchmark.open(stored.folder)
    assert str(path) in caught.value.message


def rewrite(path: Path, column: str, values: list[object]) -> None:
    table = pq.read_table(path)
    index = table.column_names.index(column)
    field = table.schema.field(column)
    pq.write_table(table.set_column(index, field, pa.array(values, field.type)), path)


def test_an_altered_label_is_found_by_verify(stored: StoredBenchmark) -> None:
    path = stored.folder / "collections/items.parquet"
    rewrite(path, "label_c", ["x"] * 5)
    with pytest.raises(BenchmarkInvalid, match=r"has digest sha256:.*, its manifest says sha256:"):
        StoredBenchmark.open(stored.folder).verify()


def test_an_altered_picture_is_found_by_verify(stored: StoredBenchmark) -> None:
    path = stored.folder / "collections/items.parquet"
    rewrite(path, "image", [{"bytes": b"other", "path": None}] * 5)
    with pytest.raises(BenchmarkInvalid, match="holds other content under id '000'"):
        StoredBenchmark.open(stored.folder).verify()


def test_explicit_judgements_are_part_of_verify(beir_folder, imported) -> None:
    corpus = '{"_id": "d", "text": "x"}\n{"_id": "e", "text": "y"}\n'
    stored = imported("beir", beir_folder(corpus, '{"_id": "q", "text": "x"}\n', "q\td\t1\n"))
    stored.verify()
    path = stored.folder / "qrels/relevance.parquet"
    rewrite(path, "grade", [2.0])
    with pytest.raises(BenchmarkInvalid, match="has digest"):
        StoredBenchmark.open(stored.folder).verify()
    path.unlink()
    with pytest.raises(BenchmarkInvalid, match=r"relevance\.parquet"):
        StoredBenchmark.open(stored.folder)
