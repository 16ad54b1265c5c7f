import pytest

from lookbench_core.digests import content_digest
from lookbench_evaluator.benchmarks.row_check import examine
from lookbench_evaluator.benchmarks.source import Rejected, Row

LIMIT = 10_000


def test_a_good_picture_gets_the_digest_of_its_bytes(make_picture) -> None:
    content = make_picture(1)
    examined = examine(Row(0, "a", content, {}), LIMIT)
    assert examined.digest == content_digest(content)
    assert examined.warnings == ()


def test_a_text_gets_the_digest_of_its_utf8(make_picture) -> None:
    assert examine(Row(0, "a", "süß", {}), LIMIT).digest == content_digest("süß".encode())


@pytest.mark.parametrize(
    ("row_id", "reason"),
    [
        ("", "ID_MISSING"),
        ("  ", "ID_MISSING"),
        ("a\tb", "ID_INVALID"),
        ("a\nb", "ID_INVALID"),
        ("a\0b", "ID_INVALID"),
        ("\ud800", "ID_INVALID"),
        ("x" * 513, "ID_INVALID"),
    ],
)
def test_ids_that_no_table_can_hold_are_rejected(row_id: str, reason: str) -> None:
    row = examine(Row(4, row_id, "text", {}), LIMIT).row
    assert isinstance(row, Rejected)
    assert (row.row, row.reason) == (4, reason)
    row.id.encode()  # can be stored


@pytest.mark.parametrize("row_id", ["007", "1e5", "NaN", " a ", "x" * 512, "日本", "a b", "true"])
def test_ids_stay_as_they_are(row_id: str) -> None:
    row = examine(Row(0, row_id, "text", {}), LIMIT).row
    assert isinstance(row, Row)
    assert row.id == row_id


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "IMAGE_UNREADABLE"),
        (b"no picture", "IMAGE_UNREADABLE"),
        ("", "TEXT_EMPTY"),
        (" \n", "TEXT_EMPTY"),
        ("\udfff", "TEXT_UNREADABLE"),
    ],
)
def test_contents_that_cannot_be_used_are_rejected(content: bytes | str, reason: str) -> None:
    row = examine(Row(0, "a", content, {}), LIMIT).row
    assert isinstance(row, Rejected)
    assert (row.id, row.reason) == ("a", reason)


def test_the_pixel_limit_is_passed_on(make_picture) -> None:
    row = examine(Row(0, "a", make_picture(1), {}), 29).row  # 6 x 5 = 30 pixels
    assert isinstance(row, Rejected)
    assert row.reason == "IMAGE_TOO_LARGE"


def test_a_rejected_row_stays_rejected_and_can_be_stored() -> None:
    row = examine(Rejected(1, "\ud800", "ID_INVALID", "\ud800" * 9999), LIMIT).row
    assert isinstance(row, Rejected)
    assert (row.id, row.message) == ("?", "?" * 512)
