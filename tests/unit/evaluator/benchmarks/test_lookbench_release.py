from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from lookbench_evaluator.benchmarks.lookbench_release import read_lookbench
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.benchmarks.source import Rejected, Row, Source
from lookbench_evaluator.errors import BenchmarkInvalid, InvalidField, SourceNotFound

Tables = Callable[..., pa.Table]
Write = Callable[..., Path]
STRUCT = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def read(root: Path, version: str = "", subsets: str = "") -> Source:
    return read_lookbench(root, version=version, subsets=subsets)


def rows(source: Source, name: str) -> list[Row]:
    found = next([*part.rows()] for part in source.collections if part.name == name)
    assert all(isinstance(row, Row) for row in found)
    return found


@pytest.fixture
def release(write_release: Write, make_release_rows: Tables, make_picture: Callable) -> Path:
    images = [make_picture(n) for n in range(3)]
    return write_release(
        {
            "street/query": make_release_rows(images[:2]),
            "street/gallery": make_release_rows(images, item_ID=["0", "0", "1"]),
            "noise/part-0": make_release_rows(
                images[:1], category=" Noise Data", item_ID=["0"], main_attribute=""
            ),
        }
    )


def test_ids_are_made_from_positions_since_item_ids_repeat(release: Path) -> None:
    source = read(release)
    assert [row.id for row in rows(source, "street-queries")] == [
        "street/q/000000",
        "street/q/000001",
    ]
    items = rows(source, "street-items")
    assert [row.id for row in items] == [f"street/g/00000{n}" for n in range(3)]
    assert [row.labels["item_id"] for row in items] == ["0", "0", "1"]
    assert [row.id for row in rows(source, "noise")] == ["noise/000000"]


def test_a_subset_searches_its_gallery_and_the_noise(release: Path) -> None:
    (subset,) = read(release).subsets
    assert (subset.queries, subset.galleries, subset.noise) == (
        "street-queries", ("street-items",), ("noise",),
    )  # fmt: skip


def test_noise_has_no_label_that_could_match(release: Path) -> None:
    (noise,) = rows(read(release), "noise")
    assert set(noise.labels.values()) == {None}


def test_labels_are_stripped_and_lower_cased(
    write_release: Write, make_release_rows: Tables
) -> None:
    table = make_release_rows(
        [b"x"], category=" T-Shirt ", main_attribute="", other_attributes=" Silk ,, LONG"
    )
    root = write_release({"s/query": table, "s/gallery": table})
    (row,) = rows(read(root), "s-items")
    assert row.labels == {
        "item_id": "0",
        "category": "t-shirt",
        "main_attribute": None,
        "other_attributes": "silk, long",
    }


def test_item_ids_may_be_integers_and_stay_what_they_look_like(
    write_release: Write, make_release_rows: Tables
) -> None:
    strings = make_release_rows([b"x"], item_ID=["007"])
    numbers = make_release_rows([b"x"], item_ID=[7])
    root = write_release({"s/query": strings, "s/gallery": numbers})
    source = read(root)
    assert rows(source, "s-queries")[0].labels["item_id"] == "007"
    assert rows(source, "s-items")[0].labels["item_id"] == "7"


def test_queries_of_one_photo_are_a_group_and_others_one_of_their_item(
    write_release: Write, make_release_rows: Tables
) -> None:
    photos = pa.array(
        [{"bytes": b"outfit 1"}, {"bytes": b"outfit 1"}, {"bytes": b"outfit 2"}, None, None], STRUCT
    )
    queries = make_release_rows([b"x"] * 5, raw_image=photos, item_ID=["0", "1", "2", "3", "3"])
    root = write_release({"s/query": queries, "s/gallery": make_release_rows([b"x"])})
    source = read(root)
    groups = [row.group for row in rows(source, "s-queries")]
    assert groups[0] == groups[1] != groups[2]
    assert groups[3] == groups[4] == "s/q/item/3"
    assert rows(source, "s-items")[0].group is None


def test_image_cells_of_every_form_and_rows_in_are_rows_out_and_rejected(
    write_release: Write,
    make_release_rows: Tables,
    make_picture: Callable[[int], bytes],
    imported: Callable[..., StoredBenchmark],
) -> None:
    cells = pa.array(
        [
            {"bytes": make_picture(1), "path": None},
            {"bytes": None, "path": "a.png"},
            {"bytes": None, "path": None},
        ],
        STRUCT,
    )
    table = make_release_rows(cells)
    root = write_release({"s/query": make_release_rows([make_picture(5)]), "s/gallery": table})
    (root / "v20251201/s/a.png").write_bytes(make_picture(2))

    stored = imported("lookbench", root)

    counts = {part.name: part for part in stored.manifest.collections}["s-items"]
    assert (counts.rows_in, counts.rows_out, counts.rows_rejected) == (3, 2, 1)
    assert stored.collection("s-items").ids == ["s/g/000000", "s/g/000001"]
    (rejected,) = stored.rejected()
    assert (rejected.row, rejected.id, rejected.reason) == (2, "s/g/000002", "CONTENT_MISSING")


def test_a_rejected_row_keeps_the_numbers_of_the_others(
    write_release: Write, make_release_rows: Tables
) -> None:
    table = make_release_rows(pa.array([None, b"x"], pa.binary()))
    source = read(write_release({"s/query": table, "s/gallery": table}))
    first, second = source.collections[1].rows()
    assert isinstance(first, Rejected)
    assert isinstance(second, Row)
    assert second.id == "s/g/000001"


def test_the_newest_version_is_read_unless_told(
    write_release: Write, make_release_rows: Tables
) -> None:
    table = make_release_rows([b"x"])
    write_release({"old/query": table, "old/gallery": table}, version="v20251201")
    root = write_release({"new/query": table, "new/gallery": table}, version="v20260601")
    assert read(root).title == "LookBench v20260601: new"
    assert read(root).release_date == date(2026, 6, 1)
    old = read(root, version="v20251201")
    assert [subset.name for subset in old.subsets] == ["old"]
    assert old.info.options == {"version": "v20251201", "subsets": "old"}
    with pytest.raises(InvalidField, match=r"'v1' is not in .*: v20251201, v20260601"):
        read(root, version="v1")


def test_a_version_directory_may_be_named_itself(release: Path) -> None:
    source = read(release / "v20251201")
    assert source.release_date == date(2025, 12, 1)
    assert read(release / "v20251201", version="v20251201").title == source.title
    with pytest.raises(InvalidField, match=r"options\.version"):
        read(release / "v20251201", version="v20260601")


def test_subsets_can_be_chosen_and_come_in_the_order_of_the_paper(
    write_release: Write, make_release_rows: Tables
) -> None:
    table = make_release_rows([b"x"])
    names = ["aigen_studio", "another", "real_streetlook", "real_studio_flat"]
    root = write_release({f"{n}/{part}": table for n in names for part in ("query", "gallery")})
    assert [subset.name for subset in read(root).subsets] == [
        "real_studio_flat", "aigen_studio", "real_streetlook", "another",
    ]  # fmt: skip
    chosen = read(root, subsets="another, aigen_studio")
    assert chosen.info.options["subsets"] == "aigen_studio,another"
    with pytest.raises(InvalidField, match="'studio' is not in"):
        read(root, subsets="studio")


def test_shards_are_read_in_the_order_of_their_names(
    write_release: Write, make_release_rows: Tables
) -> None:
    parts = {f"s/gallery-0000{n}-of-2": make_release_rows([b"x"], item_ID=[str(n)]) for n in (1, 0)}
    root = write_release({"s/query": make_release_rows([b"x"]), **parts})
    assert [row.labels["item_id"] for row in rows(read(root), "s-items")] == ["0", "1"]


def test_what_is_missing_is_named(
    tmp_path: Path, write_release: Write, make_release_rows: Tables
) -> None:
    with pytest.raises(SourceNotFound, match="has no subset"):
        read(tmp_path)
    root = write_release({"s/query": make_release_rows([b"x"])})
    with pytest.raises(SourceNotFound, match=r"has no file gallery\*\.parquet"):
        read(root)
    write_release({"s/gallery": make_release_rows([b"x"], category=[3])})
    with pytest.raises(BenchmarkInvalid, match="column 'category' has type int64"):
        read(root)


def test_a_source_without_noise_says_so(write_release: Write, make_release_rows: Tables) -> None:
    table = make_release_rows([b"x"])
    source = read(write_release({"s/query": table, "s/gallery": table}))
    assert source.subsets[0].noise == ()
    assert "the source has no noise gallery" in source.notes()


def test_luma_is_read_whole(shared_data: Path, imported: Callable[..., StoredBenchmark]) -> None:
    stored = imported("lookbench", shared_data / "luma")
    counts = {part.name: part.rows_out for part in stored.manifest.collections}
    assert counts == {"real_studio_flat-queries": 250, "real_studio_flat-items": 420, "noise": 400}
    queries = stored.collection("real_studio_flat-queries")
    items = stored.collection("real_studio_flat-items")
    assert len(set(queries.groups)) == 148  # distinct item_IDs: raw_image is null
    assert set(queries.labels["item_id"]) <= set(items.labels["item_id"])
    assert stored.rejected() == []
    assert [*stored.collection("noise").labels["category"]] == [None] * 400


def test_street_is_read_whole(shared_data: Path, imported: Callable[..., StoredBenchmark]) -> None:
    stored = imported("lookbench", shared_data / "street")
    counts = {part.name: part.rows_out for part in stored.manifest.collections}
    assert counts == {"real_streetlook-queries": 200, "real_streetlook-items": 700}
    categories = stored.collection("real_streetlook-items").labels["category"].tolist()
    assert categories.count("t-shirt") == 135
