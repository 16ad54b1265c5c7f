"""The numbers of a run."""

from lbclient.report_tables import (
    judgement_order,
    query_metrics,
    query_value,
    report_parts,
    results_table,
    value_text,
)
from lookbench.v1.run_pb2 import DuplicateGroup, MetricValue, RejectedRow


def test_headline_comes_first(report):
    assert judgement_order(report) == ["item", "category"]


def test_block_is_a_matrix_of_metrics_and_cutoffs_in_natural_order(report, printed):
    text = printed(*report_parts(report))
    lines = text.splitlines()
    start = lines.index("main: relevant by item, headline")
    assert [line.split() for line in lines[start + 1 : start + 5]] == [
        ["metric", "@1", "@10"],
        ["─" * len(lines[start + 2])],
        ["hit", "0.3884", "0.9000"],
        ["ndcg_binary", "0.2500", "-"],
    ]


def test_counts_and_notes_stand_below(report, printed):
    text = printed(*report_parts(report), width=200)
    assert (
        "500 queries in the mean; 4,000 items, 400 of them noise; "
        "3 queries without a relevant item" in text
    )
    assert text.rstrip().endswith("Note: Labels were lower-cased.")


def test_heading_names_system_benchmark_and_run(report, printed):
    first = printed(*report_parts(report)).splitlines()[0]
    assert first == "efficientnet-lite0 on fashion-mnist (runs/nightly)"


def test_report_fits_80_columns(report, printed):
    assert max(map(len, printed(*report_parts(report)).splitlines())) <= 80


def test_rejected_rows_are_listed_and_the_rest_counted(report, printed):
    report.rejected_count = 12
    for row in range(11):
        report.rejected.append(
            RejectedRow(collection="items", row=row, id=f"i{row}", message="truncated JPEG")
        )
    text = printed(*report_parts(report))
    assert "12 rows were rejected:" in text
    assert "items row 9 (i9): truncated JPEG" in text
    assert "i10" not in text
    assert "and 2 more; --json lists them" in text


def test_duplicates_and_truncated_texts_are_told(report, printed):
    report.duplicates.append(DuplicateGroup(item_ids=["a", "b"]))
    report.duplicate_group_count = 1
    report.truncated_count = 7
    text = printed(*report_parts(report))
    assert "Items with equal content: 1 group." in text
    assert "7 texts were longer than the model accepts" in text


def test_zero_is_not_an_absent_value():
    assert value_text(MetricValue(value=0.0)) == "0.0000"
    assert value_text(MetricValue()) == "-"
    assert value_text(None) == "-"


def test_results_mark_relevant_items(query_result, printed):
    text = printed(results_table([query_result("q7", 1.0)], "item", [("hit", 1)]))
    assert text.splitlines()[2].split() == ["q7", "main", "i0", "0.900*,", "i1", "0.800", "1.0000"]


def test_values_of_a_query(query_result):
    assert query_metrics(query_result("q", 1.0)) == [("hit", 1)]
    assert query_value(query_result("q", 0.0), "item", "hit", 1) == 0.0
    assert query_value(query_result("q", None), "item", "hit", 1) is None
    assert query_value(query_result("q", 1.0), "category", "hit", 1) is None
