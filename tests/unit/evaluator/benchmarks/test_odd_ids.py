"""Ids that look like numbers, repeated ids: kept as written, and the first good row stays."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.errors import BenchmarkInvalid

Folder = Callable[..., Path]
Imported = Callable[..., StoredBenchmark]

LIKE_NUMBERS = ["001", "1", "01", "1e5", "100000", "1.0", "+1", "0x10", "1_000", "NaN", "TRUE", "-"]
HEAD = "id,path,split,kind\n"


def test_ids_of_a_csv_file_are_kept_as_written(image_folder: Folder, imported: Imported) -> None:
    rows = "".join(f"{row_id},a.png,item,{row_id}\n" for row_id in LIKE_NUMBERS)
    stored = imported("image-folder", image_folder(f"{HEAD}001,b.png,query,001\n{rows}"))
    items = stored.collection("items")
    assert items.ids == LIKE_NUMBERS
    assert list(items.labels["kind"]) == LIKE_NUMBERS, "and so are labels"
    assert stored.collection("queries").ids == ["001"]
    assert stored.rejected() == []


def test_ids_of_json_lines_and_judgements_are_kept_as_written(
    beir_folder: Folder, imported: Imported
) -> None:
    corpus = "\n".join(json.dumps({"_id": i, "text": f"text {i}"}) for i in LIKE_NUMBERS)
    qrels = "".join(f"007\t{row_id}\t{n % 2}\n" for n, row_id in enumerate(LIKE_NUMBERS))
    stored = imported("beir", beir_folder(corpus, '{"_id": "007", "text": "q"}', qrels))
    assert stored.collection("corpus").ids == LIKE_NUMBERS
    grades = {row_id: float(n % 2) for n, row_id in enumerate(LIKE_NUMBERS)}
    assert stored.qrels("relevance") == {"007": grades}


def test_whole_numbers_as_ids_become_text_and_other_numbers_are_rejected(
    beir_folder: Folder, imported: Imported
) -> None:
    """JSON's 7 is "7", also beside a "07"; 1.0 and 1e5 have no one spelling."""
    corpus = "".join(
        f'{{"_id": {row_id}, "text": "t"}}\n' for row_id in ("7", '"07"', "-3", "1.0", "1e5")
    )
    qrels = "1\t7\t1\n1\t07\t0\n1\t-3\t2\n"
    stored = imported("beir", beir_folder(corpus, '{"_id": 1, "text": "q"}', qrels))
    assert stored.collection("corpus").ids == ["7", "07", "-3"]
    assert stored.qrels("relevance") == {"1": {"7": 1.0, "07": 0.0, "-3": 2.0}}
    assert [(row.row, row.reason) for row in stored.rejected()] == [
        (4, "ID_INVALID"),
        (5, "ID_INVALID"),
    ]


@pytest.mark.parametrize(
    ("item_ids", "labels"),
    [
        (["001", "1", "1.0"], ["001", "1", "1.0"]),
        (["1e5", "1E5", "100000"], ["1e5", "1e5", "100000"]),
        (pa.array(np.array([7, 12, -1], np.int32)), ["7", "12", "-1"]),
        (pa.array(np.array([7, 12, 2**63], np.uint64)), ["7", "12", str(2**63)]),
    ],
)
def test_item_ids_of_a_release_are_labels_compared_as_text(
    write_release: Folder,
    make_release_rows: Callable[..., pa.Table],
    make_picture: Callable[..., bytes],
    imported: Imported,
    item_ids: object,
    labels: list[str],
) -> None:
    """Labels are lower-cased, so that 1E5 and 1e5 are one; nothing is read as a number."""
    cells = [{"bytes": make_picture(n), "path": None} for n in range(3)]
    rows = make_release_rows(cells, item_ID=item_ids)
    stored = imported("lookbench", write_release({"s/query": rows, "s/gallery": rows}))
    assert list(stored.collection("s-items").labels["item_id"]) == labels


def test_of_a_repeated_id_the_first_good_row_is_kept_whether_or_not_they_agree(
    image_folder: Folder, imported: Imported
) -> None:
    table = (
        f"{HEAD}q,a.png,query,x\n"
        "i,b.png,item,x\n"
        "i,b.png,item,x\n"  # line 4 repeats line 3 exactly
        "i,c.png,item,y\n"  # line 5 contradicts it
        "j,no.png,item,x\n"  # line 6 cannot be used, so line 7 is the first good one
        "j,d.png,item,x\n"
    )
    stored = imported("image-folder", image_folder(table))
    items = stored.collection("items")
    assert (items.ids, list(items.labels["kind"])) == (["i", "j"], ["x", "x"])
    assert [(row.row, row.id, row.reason) for row in stored.rejected()] == [
        (4, "i", "DUPLICATE_ID"),
        (5, "i", "DUPLICATE_ID"),
        (6, "j", "FILE_MISSING"),
    ]
    assert "row 3 of items" in stored.rejected()[0].message


def test_repeated_ids_of_texts_are_rejected_and_judgements_keep_their_meaning(
    beir_folder: Folder, imported: Imported
) -> None:
    corpus = '{"_id": "d", "text": "first"}\n{"_id": "d", "text": "second"}\n'
    queries = '{"_id": "q", "text": "a"}\n{"_id": "q", "text": "a"}\n'
    stored = imported("beir", beir_folder(corpus, queries, "q\td\t1\nq\td\t1\n"))
    ((_, texts),) = stored.contents("corpus")
    assert texts == ["first"]
    assert [(row.collection, row.row) for row in stored.rejected()] == [
        ("queries", 2),
        ("corpus", 2),
    ]
    assert "test.tsv: 1 repeated judgements, kept once" in stored.manifest.notes
    with pytest.raises(BenchmarkInvalid, match=r"test\.tsv"):
        imported("beir", beir_folder(corpus, queries, "q\td\t1\nq\td\t2\n"), name="conflict")
