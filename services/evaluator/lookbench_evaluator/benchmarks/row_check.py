"""What a row must be to become part of a benchmark."""

import re
from dataclasses import dataclass, replace

from lookbench_core.digests import content_digest
from lookbench_evaluator.benchmarks.source import ID_INVALID, ID_MISSING, Rejected, Row
from lookbench_inference.errors import ItemUnreadable
from lookbench_inference.images import decode
from lookbench_inference.texts import TEXT_EMPTY, TEXT_UNREADABLE

MAX_ID_LENGTH = 512
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Examined:
    """A row, or why it is none. digest: of its content; warnings: see images.WARNINGS."""

    row: Row | Rejected
    digest: str = ""
    warnings: tuple[str, ...] = ()


def examine(row: Row | Rejected, max_pixels: int) -> Examined:
    """Decodes the content in full. Pure: run it in any thread or process."""
    if isinstance(row, Rejected):
        return Examined(_storable(row))
    try:
        _check_id(row.id)
        if isinstance(row.content, str):
            return Examined(row, content_digest(_text_bytes(row.content)))
        warnings = decode(row.content, max_pixels=max_pixels).warnings
        return Examined(row, content_digest(row.content), warnings)
    except ItemUnreadable as error:
        return Examined(_storable(Rejected(row.row, row.id, error.row_reason, error.message)))


def _check_id(row_id: str) -> None:
    if not row_id.strip():
        raise ItemUnreadable(ID_MISSING, "the id is empty")
    if len(row_id) > MAX_ID_LENGTH:
        raise ItemUnreadable(ID_INVALID, f"the id is longer than {MAX_ID_LENGTH} characters")
    if _CONTROL.search(row_id) or not _is_unicode(row_id):
        raise ItemUnreadable(
            ID_INVALID, "the id holds a control character or half a surrogate pair"
        )


def _text_bytes(text: str) -> bytes:
    if not text.strip():
        raise ItemUnreadable(TEXT_EMPTY, "the text is empty")
    if not _is_unicode(text):
        raise ItemUnreadable(TEXT_UNREADABLE, "the text holds half of a surrogate pair")
    return text.encode()


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _storable(rejected: Rejected) -> Rejected:
    """Its strings with what UTF-8 cannot hold replaced, and cut to a readable length."""
    row_id, message = (
        text.encode("utf-8", "replace").decode()[:MAX_ID_LENGTH]
        for text in (rejected.id, rejected.message)
    )
    return replace(rejected, id=row_id, message=message)
