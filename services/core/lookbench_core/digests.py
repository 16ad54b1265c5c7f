"""SHA-256 of files and of plain data."""

import hashlib
import json
from pathlib import Path


def file_digest(path: Path) -> str:
    """`sha256:<hex>` of a file's bytes."""
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def content_digest(content: bytes) -> str:
    """`sha256:<hex>` of `content`."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def data_digest(data: object) -> str:
    """`sha256:<hex>` of JSON-able data, independent of the order of its keys."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return content_digest(text.encode())
