import io
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from lookbench_core.benchmark import MANIFEST_NAME, BenchmarkManifest
from lookbench_evaluator.benchmarks.importer import import_benchmark
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.benchmarks.readers import open_source
from lookbench_evaluator.errors import BenchmarkAlreadyExists, BenchmarkInvalid, StoreUnavailable

HEAD = "id,path,split,c\n"
ROWS = "q,a.png,query,x\n" + "".join(f"i{n},{name}.png,item,x\n" for n, name in enumerate("bcdef"))
Folder = Callable[[str], Path]
Imported = Callable[..., StoredBenchmark]


def test_rows_in_are_rows_out_and_rejected(image_folder: Folder, imported: Imported) -> None:
    folder = image_folder(HEAD + ROWS + "i9,no.png,item,x\ni0,b.png,item,x\n")
    (folder / "c.png").write_bytes((folder / "c.png").read_bytes()[:50])
    stored = imported("image-folder", folder)
    for part in stored.manifest.collections:
        assert part.rows_in == part.rows_out + part.rows_rejected
    assert [(row.collection, row.row, row.id, row.reason) for row in stored.rejected()] == [
        ("items", 4, "i1", "IMAGE_UNREADABLE"),
        ("items", 8, "i9", "FILE_MISSING"),
        ("items", 9, "i0", "DUPLICATE_ID"),
    ]


def test_of_equal_ids_the_first_good_row_is_kept(image_folder: Folder, imported: Imported) -> None:
    table = (
        HEAD + "q,a.png,query,x\n1,no.png,item,x\n1,b.png,item,x\n01,c.png,item,x\n1,d.png,item,x\n"
    )
    folder = image_folder(table)
    stored = imported("image-folder", folder)
    assert stored.collection("items").ids == ["1", "01"]
    ((_, contents),) = stored.contents("items")
    assert contents[0] == (folder / "b.png").read_bytes()
    assert stored.rejected()[-1].message == "the id was given before, to row 4 of items"


def test_a_query_and_an_item_may_share_an_id(image_folder: Folder, imported: Imported) -> None:
    stored = imported("image-folder", image_folder(HEAD + "1,a.png,query,x\n1,b.png,item,x\n"))
    assert stored.rejected() == []


def test_ids_are_unique_over_all_galleries(image_folder: Folder, imported: Imported) -> None:
    table = (
        "id,path,split,subset,c\nq,a.png,query,s,x\n"
        "1,b.png,item,s,x\n1,c.png,item,,x\n2,d.png,item,,x\n"
    )
    stored = imported("image-folder", image_folder(table))
    assert [(row.collection, row.reason) for row in stored.rejected()] == [
        ("items", "DUPLICATE_ID")
    ]


def test_the_result_does_not_depend_on_the_number_of_threads(
    image_folder: Folder, imported: Imported
) -> None:
    folder = image_folder(HEAD + ROWS)
    results = [imported("image-folder", folder, name=f"w{n}", workers=n) for n in (1, 3, 16)]
    assert {result.collection("items").ids == ["i0", "i1", "i2", "i3", "i4"] for result in results}
    files = [(result.folder / "collections/items.parquet").read_bytes() for result in results]
    assert files[0] == files[1] == files[2]


def test_the_digest_knows_what_is_measured_and_nothing_else(
    image_folder: Folder, imported: Imported
) -> None:
    digests = {}
    lines = ROWS.splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    for name, table in {
        "plain": HEAD + ROWS,
        "shuffled": HEAD + "".join(lines),
        "columns": "split,c,id,path\n" + "".join(
            "{2},{3},{0},{1}\n".format(*line.strip().split(",")) for line in lines
        ),
        "label": HEAD + ROWS.replace("i0,b.png,item,x", "i0,b.png,item,y"),
        "id": HEAD + ROWS.replace("i0,", "i00,"),
        "content": HEAD + ROWS.replace("i0,b.png", "i0,a.png"),
    }.items():  # fmt: skip
        digests[name] = imported("image-folder", image_folder(table), name=name).manifest.digest
    assert digests["plain"] == digests["shuffled"] == digests["columns"]
    assert len(set(digests.values())) == 4


def test_the_folder_is_the_format(image_folder: Folder, imported: Imported) -> None:
    folder = image_folder(HEAD + ROWS)
    stored = imported("image-folder", folder, name="shop")
    names = sorted(str(path.relative_to(stored.folder)) for path in stored.folder.rglob("*.*"))
    assert names == [
        "benchmark.json", "collections/items.parquet", "collections/queries.parquet",
        "rejected.parquet",
    ]  # fmt: skip
    text = (stored.folder / MANIFEST_NAME).read_text()
    manifest = BenchmarkManifest.model_validate_json(text)
    assert manifest.id == "shop"
    assert manifest.source.path == str(folder)
    assert manifest.source.options == {"csv": "labels.csv", "judgements": "c"}


def test_what_was_done_to_pictures_is_counted_in_the_notes(
    image_folder: Folder, imported: Imported
) -> None:
    folder = image_folder(HEAD + ROWS)
    red, green = (Image.new("RGB", (8, 8), colour) for colour in ("red", "lime"))
    for name in "bc":
        red.save(folder / f"{name}.png", "GIF", save_all=True, append_images=[green])
    green.save(folder / "d.png", icc_profile=b"broken")
    stored = imported("image-folder", folder)
    assert stored.manifest.notes == (
        "2 images: several frames, first one used",
        "1 images: colour profile unreadable or unfit, ignored",
    )


def test_progress_counts_rows_up_to_the_end(image_folder: Folder, tmp_path: Path) -> None:
    rows = "".join(f"{n},b.png,item,x\n" for n in range(249))
    source = open_source("image-folder", image_folder(HEAD + "q,a.png,query,x\n" + rows), {})
    told: list[int] = []
    import_benchmark(source, "b", tmp_path / "b", workers=2, on_progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 250
    assert 200 in told


class Stopped(Exception):
    pass


def test_an_import_can_be_stopped_and_leaves_nothing(image_folder: Folder, tmp_path: Path) -> None:
    source = open_source("image-folder", image_folder(HEAD + ROWS), {})

    def stop(rows: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        import_benchmark(source, "b", tmp_path / "store" / "b", on_progress=stop)
    assert list((tmp_path / "store").iterdir()) == []


def test_an_existing_target_is_not_touched(image_folder: Folder, imported: Imported) -> None:
    folder = image_folder(HEAD + ROWS)
    stored = imported("image-folder", folder)
    with pytest.raises(BenchmarkAlreadyExists, match="benchmarks/imported exists already"):
        imported("image-folder", folder)
    stored.verify()


def test_a_benchmark_without_usable_queries_or_items_is_refused(
    image_folder: Folder, imported: Imported, tmp_path: Path
) -> None:
    table = HEAD + "q,no.png,query,x\ni,b.png,item,x\n"
    with pytest.raises(
        BenchmarkInvalid,
        match=r"'all' has no usable query; the first rejected is row 2, id 'q': FILE_MISSING",
    ):
        imported("image-folder", image_folder(table))
    table = HEAD + "q,a.png,query,x\ni,no.png,item,x\n"
    with pytest.raises(BenchmarkInvalid, match="has no usable item; the first rejected is row 3"):
        imported("image-folder", image_folder(table))
    assert list((tmp_path / "store").iterdir()) == []


def test_a_table_without_queries_is_refused(image_folder: Folder, imported: Imported) -> None:
    with pytest.raises(BenchmarkInvalid, match="has no queries"):
        imported("image-folder", image_folder(HEAD + "i,a.png,item,x\n"))


def test_two_subsets_of_one_name_are_refused(image_folder: Folder, imported: Imported) -> None:
    table = "id,path,split,subset,c\n1,a.png,query,,x\n2,b.png,query,all,x\n3,c.png,item,,x\n"
    with pytest.raises(BenchmarkInvalid, match="two subsets are named 'all'"):
        imported("image-folder", image_folder(table))


def test_the_store_that_cannot_be_written_is_named(image_folder: Folder, tmp_path: Path) -> None:
    source = open_source("image-folder", image_folder(HEAD + ROWS), {})
    (tmp_path / "store").write_text("a file where a folder should be")
    with pytest.raises(StoreUnavailable, match=r"cannot write .*/store: "):
        import_benchmark(source, "b", tmp_path / "store" / "b")


def test_pictures_over_the_limit_are_rejected_one_by_one(
    image_folder: Folder, tmp_path: Path
) -> None:
    folder = image_folder(HEAD + ROWS)
    file = io.BytesIO()
    Image.new("L", (10, 10)).save(file, "PNG")
    (folder / "c.png").write_bytes(file.getvalue())
    source = open_source("image-folder", folder, {})
    import_benchmark(source, "b", tmp_path / "b", max_pixels=99)
    (rejected,) = StoredBenchmark.open(tmp_path / "b").rejected()
    assert (rejected.id, rejected.reason) == ("i1", "IMAGE_TOO_LARGE")


def test_rows_are_read_as_they_are_needed(image_folder: Folder, tmp_path: Path) -> None:
    source = open_source("image-folder", image_folder(HEAD + ROWS), {})
    queries, items = source.collections
    read, stopped_at = 0, 40

    def endless():
        nonlocal read
        for number in range(1_000_000):
            read += 1
            row = next(iter(items.rows()))
            yield replace(row, id=f"x{number}")

    def stop(rows: int) -> None:
        if rows >= stopped_at:
            raise Stopped

    endless_source = replace(source, collections=(queries, replace(items, rows=endless)))
    with pytest.raises(Stopped):
        import_benchmark(endless_source, "b", tmp_path / "b", workers=2, on_progress=stop)
    assert read <= 100
