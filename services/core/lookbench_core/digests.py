"""SHA-256 of files and of plain data."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path


def file_digest(path: Path) -> str:
    """`sha256:<hex>` of a file's bytes."""
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def files_digest(paths: Sequence[Path]) -> str:
    """One digest for a set of files of one folder.

    Of one file: its own digest. Of several: the digest of their names and
    digests, in any order of `paths`.
    """
    if len(paths) == 1:
        return file_digest(paths[0])
    return data_digest({path.name: file_digest(path) for path in paths})


def content_digest(content: bytes) -> str:
    """`sha256:<hex>` of `content`."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def data_digest(data: object) -> str:
    """`sha256:<hex>` of JSON-able data, independent of the order of its keys."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return content_digest(text.encode())
