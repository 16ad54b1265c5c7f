from datetime import UTC, datetime, timedelta, timezone

import pytest

from lookbench_core.benchmark import Judgement, Subset
from lookbench_evaluator.benchmarks.fingerprint import benchmark_digest, row_digest, set_digest

SUBSET = Subset(name="s", queries="q", galleries=("a", "b"), noise=("n",))
RULE = Judgement(name="r", description="words", kind="equal", labels=("x", "y"))
TIME = datetime(2025, 12, 1, 12, tzinfo=UTC)
ROW = ("id", "sha256:0", {"a": "1", "b": None}, "g", TIME)


def digest(**changes: object) -> str:
    parts = {
        "collections": {"q": "1", "a": "2"},
        "qrels": {},
        "subsets": [SUBSET],
        "judgements": [RULE],
    }
    return benchmark_digest(**{**parts, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"collections": {"q": "1", "a": "3"}},
        {"collections": {"q": "1", "c": "2"}},
        {"qrels": {"r": "1"}},
        {"subsets": [SUBSET.model_copy(update={"noise": ()})]},
        {"judgements": [RULE.model_copy(update={"labels": ("x",)})]},
        {"judgements": [RULE.model_copy(update={"kind": "qrels"})]},
    ],
)
def test_what_is_measured_changes_the_digest(changes: dict[str, object]) -> None:
    assert digest(**changes) != digest()


@pytest.mark.parametrize(
    "changes",
    [
        {"collections": {"a": "2", "q": "1"}},
        {"judgements": [RULE.model_copy(update={"description": "other words"})]},
        {"judgements": [RULE.model_copy(update={"labels": ("y", "x")})]},
        {"subsets": [SUBSET.model_copy(update={"galleries": ("b", "a")})]},
    ],
)
def test_words_and_order_do_not(changes: dict[str, object]) -> None:
    assert digest(**changes) == digest()


@pytest.mark.parametrize(
    ("position", "value"),
    [(0, "other"), (1, "sha256:1"), (2, {"a": "1", "b": ""}), (3, None), (4, None)],
)
def test_every_part_of_a_row_counts(position: int, value: object) -> None:
    changed = list(ROW)
    changed[position] = value
    assert row_digest(*changed) != row_digest(*ROW)


def test_the_order_of_labels_and_the_zone_of_a_time_do_not_count() -> None:
    local = TIME.astimezone(timezone(timedelta(hours=5)))
    assert row_digest("id", "sha256:0", {"b": None, "a": "1"}, "g", local) == row_digest(*ROW)


def test_the_order_of_rows_does_not_count_but_their_number_does() -> None:
    a, b = bytes(32), bytes([1]) * 32
    assert set_digest([a, b]) == set_digest([b, a])
    assert set_digest([a, a]) != set_digest([a])
