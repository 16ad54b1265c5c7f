import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from lookbench_evaluator.benchmarks.beir import read_beir
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.errors import BenchmarkInvalid, PathOutsideRoot, SourceNotFound

CORPUS = (
    '{"_id": "d1", "title": "Red dress", "text": "of silk"}\n'
    '{"_id": "d2", "title": "", "text": "blue {jeans}"}\n'
    '{"_id": 3, "text": "hat"}\n'
)
QUERIES = (
    '{"_id": "007", "text": "red"}\n{"_id": "q2", "text": "hat"}\n{"_id": "q3", "text": "x"}\n'
)
QRELS = "query-id\tcorpus-id\tscore\n007\td1\t2\n007\td2\t0\nq2\t3\t1\n"
Folder = Callable[..., Path]
Imported = Callable[..., StoredBenchmark]


def texts(stored: StoredBenchmark, name: str) -> list[str]:
    return [text for _, batch in stored.contents(name) for text in batch]


def test_items_are_title_and_text_and_ids_stay_strings(
    beir_folder: Folder, imported: Imported
) -> None:
    stored = imported("beir", beir_folder(CORPUS, QUERIES, QRELS))
    assert stored.collection("corpus").ids == ["d1", "d2", "3"]
    assert texts(stored, "corpus") == ["Red dress of silk", "blue {jeans}", "hat"]
    assert stored.qrels("relevance") == {"007": {"d1": 2.0, "d2": 0.0}, "q2": {"3": 1.0}}
    assert (stored.manifest.query_modality, stored.manifest.item_modality) == ("text", "text")


def test_only_judged_queries_are_evaluated_and_the_others_counted(
    beir_folder: Folder, imported: Imported
) -> None:
    stored = imported("beir", beir_folder(CORPUS, QUERIES, QRELS))
    assert stored.collection("queries").ids == ["007", "q2"]
    assert "1 queries have no judgement in test.tsv: left out" in stored.manifest.notes


def test_another_split_and_compressed_files_are_read(
    beir_folder: Folder, imported: Imported
) -> None:
    folder = beir_folder(CORPUS, QUERIES, QRELS, split="dev")
    for name in ("corpus", "queries"):
        path = folder / f"{name}.jsonl"
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert len(imported("beir", folder, split="dev").collection("corpus")) == 3
    with pytest.raises(SourceNotFound, match=r"has no file qrels/test\.tsv"):
        read_beir(folder, split="test")
    with pytest.raises(PathOutsideRoot, match=r"options\.split"):
        read_beir(folder, split="../../x")


def test_bad_lines_are_rejected_with_their_line(beir_folder: Folder, imported: Imported) -> None:
    corpus = CORPUS + (
        '{"_id": "d4", "text": \n'
        '{"title": "no id"}\n'
        '{"_id": 1.5, "text": "x"}\n'
        '{"_id": true, "text": "x"}\n'
        '{"_id": "d5", "text": ["x"]}\n'
        '{"_id": "d6", "title": " ", "text": ""}\n'
        '{"_id": "d7", "text": "\\ud800"}\n'
        '{"_id": "d\\ud800", "text": "x"}\n'
        '{"_id": "a\\tb", "text": "x"}\n'
        '{"_id": "", "text": "x"}\n'
        '{"_id": "d1", "text": "again"}\n'
    )
    stored = imported("beir", beir_folder(corpus, QUERIES, QRELS))
    assert [(row.row, row.reason) for row in stored.rejected()] == [
        (4, "LINE_UNREADABLE"),
        (5, "ID_MISSING"),
        (6, "ID_INVALID"),
        (7, "ID_INVALID"),
        (8, "LINE_UNREADABLE"),
        (9, "TEXT_EMPTY"),
        (10, "TEXT_UNREADABLE"),
        (11, "ID_INVALID"),
        (12, "ID_INVALID"),
        (13, "ID_MISSING"),
        (14, "DUPLICATE_ID"),
    ]
    assert stored.collection("corpus").ids == ["d1", "d2", "3"]


def test_repeated_judgements_count_once_and_are_told(
    beir_folder: Folder, imported: Imported
) -> None:
    stored = imported("beir", beir_folder(CORPUS, QUERIES, QRELS + "007\td1\t2\n007\td1\t2\n"))
    assert stored.qrels("relevance")["007"] == {"d1": 2.0, "d2": 0.0}
    assert "test.tsv: 2 repeated judgements, kept once" in stored.manifest.notes


def test_conflicting_judgements_are_an_error_naming_both_lines(
    beir_folder: Folder, imported: Imported, tmp_path: Path
) -> None:
    folder = beir_folder(CORPUS, QUERIES, QRELS + "007\td1\t1\n")
    with pytest.raises(BenchmarkInvalid, match=r"test\.tsv: .*line 2 and 1 on line 5"):
        imported("beir", folder)
    assert list((tmp_path / "store").iterdir()) == []


def test_judgements_of_unknown_ids_are_left_out_and_told(
    beir_folder: Folder, imported: Imported
) -> None:
    qrels = QRELS + "007\tnowhere\t1\nnobody\td1\t1\n"
    stored = imported("beir", beir_folder(CORPUS, QUERIES, qrels))
    assert set(stored.qrels("relevance")) == {"007", "q2"}
    assert (
        "test.tsv: 2 judgements name a query or item that is not in the benchmark, left out"
        in stored.manifest.notes
    )


def test_negative_grades_are_told(beir_folder: Folder, imported: Imported) -> None:
    stored = imported("beir", beir_folder(CORPUS, QUERIES, QRELS + "q2\td1\t-1\n"))
    assert stored.qrels("relevance")["q2"] == {"3": 1.0, "d1": 0.0}
    assert "1 judgements in test.tsv below 0: read as 0" in stored.manifest.notes


def test_the_same_query_string_is_one_group(beir_folder: Folder, imported: Imported) -> None:
    queries = QUERIES.replace('"hat"', '" red "')
    stored = imported("beir", beir_folder(CORPUS, queries, QRELS + "q3\td1\t1\n"))
    first, second, third = stored.collection("queries").groups
    assert first == second != third
