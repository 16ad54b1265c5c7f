from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lookbench_core.benchmark import Subset
from lookbench_evaluator.benchmarks.image_folder import read_image_folder
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.benchmarks.source import Rejected, Row, Source
from lookbench_evaluator.errors import (
    BenchmarkInvalid,
    InvalidField,
    PathOutsideRoot,
    SourceNotFound,
)

PLAIN = "id,path,split,category,colour\nq1,a.png,query,dress,red\n007,b.png,item,dress,blue\n"
Folder = Callable[[str], Path]


def read(folder: Path, csv: str = "labels.csv", judgements: str = "") -> Source:
    return read_image_folder(folder, csv=csv, judgements=judgements)


def rows(source: Source, name: str) -> list[Row | Rejected]:
    return next([*part.rows()] for part in source.collections if part.name == name)


def test_rows_hold_bytes_labels_and_ids_as_written(image_folder: Folder) -> None:
    folder = image_folder(PLAIN)
    (row,) = rows(read(folder), "items")
    assert row == Row(
        3, "007", (folder / "b.png").read_bytes(), {"category": "dress", "colour": "blue"}
    )


def test_each_label_is_a_judgement_unless_told(image_folder: Folder) -> None:
    folder = image_folder(PLAIN)
    assert [rule.labels for rule in read(folder).judgements] == [("category",), ("colour",)]
    chosen = read(folder, judgements=" category+colour, category ")
    assert [rule.labels for rule in chosen.judgements] == [("category", "colour"), ("category",)]
    assert chosen.headline == "category+colour"
    assert chosen.info.options["judgements"] == "category+colour,category"


def test_a_judgement_on_an_unknown_label_lists_the_known(image_folder: Folder) -> None:
    with pytest.raises(InvalidField, match=r"'brand' is not a label .*: category, colour"):
        read(image_folder(PLAIN), judgements="category+brand")


def test_a_table_without_labels_is_refused(image_folder: Folder) -> None:
    with pytest.raises(BenchmarkInvalid, match="no label column"):
        read(image_folder("id,path,split\n1,a.png,query\n2,b.png,item\n"))


def test_empty_cells_are_absent_labels_groups_and_times(image_folder: Folder) -> None:
    table = (
        "id,path,split,group,time,c\nq,a.png,query,,,\ni,b.png,item,g,2025-12-01T10:00+02:00,x\n"
    )
    source = read(image_folder(table))
    (query,), (item,) = rows(source, "queries"), rows(source, "items")
    assert isinstance(query, Row)
    assert isinstance(item, Row)
    assert (query.labels, query.group, query.time) == ({"c": None}, None, None)
    assert (item.group, item.time) == ("g", datetime(2025, 12, 1, 8, tzinfo=UTC))


def test_a_time_without_zone_is_utc_and_a_bad_one_rejects_the_row(image_folder: Folder) -> None:
    table = (
        "id,path,split,time,c\n"
        "1,a.png,query,2025-12-01,x\n2,b.png,query,yesterday,x\n3,c.png,item,,x\n"
    )
    first, second = rows(read(image_folder(table)), "queries")
    assert isinstance(first, Row)
    assert first.time == datetime(2025, 12, 1, tzinfo=UTC)
    assert second == Rejected(3, "2", "TIME_INVALID", "time 'yesterday' is not ISO 8601")


def test_queries_of_a_subset_search_its_items_and_the_shared(image_folder: Folder) -> None:
    table = (
        "id,path,split,subset,c\n"
        "1,a.png,query,flat,x\n2,b.png,query,street,x\n"
        "3,c.png,item,flat,x\n4,d.png,item,,x\n"
    )
    source = read(image_folder(table))
    assert source.subsets == [
        Subset(name="flat", queries="flat-queries", galleries=("flat-items", "items")),
        Subset(name="street", queries="street-queries", galleries=("items",)),
    ]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("1,a.png,query,x,c\n2,b.png,item,y,c\n", "subset 'y' has items but no queries"),
        ("1,a.png,query,x,c\n2,b.png,query,,c\n3,c.png,item,x,c\n", "subset 'all' have no items"),
        ("1,a.png,query,../x,c\n", r"line 2: subset '\.\./x' is not letters"),
    ],
)
def test_subsets_that_cannot_be_searched_are_refused(
    image_folder: Folder, table: str, problem: str
) -> None:
    with pytest.raises(BenchmarkInvalid, match=problem):
        read(image_folder("id,path,split,subset,c\n" + table))


def test_files_that_cannot_be_used_reject_their_row(
    image_folder: Folder, imported: Callable[..., StoredBenchmark], tmp_path: Path
) -> None:
    secret = tmp_path / "secret.png"
    table = "id,path,split,c\nq,a.png,query,x\ni,b.png,item,x\n" + "".join(
        f"{n},{path},item,x\n"
        for n, path in enumerate(
            ["../secret.png", secret, "link.png", "none.png", "", ".", "no.jpg"]
        )
    )
    folder = image_folder(table)
    secret.write_bytes((folder / "a.png").read_bytes())
    (folder / "link.png").symlink_to(secret)
    (folder / "no.jpg").write_text("no picture")

    stored = imported("image-folder", folder)

    assert [(row.id, row.reason) for row in stored.rejected()] == [
        ("0", "PATH_OUTSIDE_SOURCE"),
        ("1", "PATH_OUTSIDE_SOURCE"),
        ("2", "PATH_OUTSIDE_SOURCE"),
        ("3", "FILE_MISSING"),
        ("4", "CONTENT_MISSING"),
        ("5", "FILE_MISSING"),
        ("6", "IMAGE_UNREADABLE"),
    ]
    assert stored.collection("items").ids == ["i"]


def test_the_table_itself_may_not_lie_outside(image_folder: Folder) -> None:
    folder = image_folder(PLAIN)
    with pytest.raises(PathOutsideRoot, match=r"options\.csv"):
        read(folder, csv="../labels.csv")
    with pytest.raises(SourceNotFound, match=r"has no file other\.csv"):
        read(folder, csv="other.csv")
