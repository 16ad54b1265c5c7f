"""The image cell of a parquet row, in the forms in which data sets write it."""

from collections.abc import Mapping
from pathlib import Path

from lookbench_evaluator.benchmarks.files import read_item_file
from lookbench_evaluator.benchmarks.source import CONTENT_MISSING
from lookbench_inference.errors import ItemUnreadable


def read_cell(cell: object, base: Path, root: Path) -> bytes:
    """Bytes of an image.

    `cell`: a mapping of `bytes` and `path` (bytes first, path where bytes is
    null), bytes, or a path. Paths are relative to `base` and confined to `root`.

    Raises ItemUnreadable with CONTENT_MISSING when there is neither, or as
    `read_item_file` does.
    """
    path = cell
    if isinstance(cell, Mapping):
        content, path = cell.get("bytes"), cell.get("path")
        if content is not None:
            return bytes(content)
    if isinstance(path, bytes):
        return path
    if isinstance(path, str) and path:
        return read_item_file(path, base, root)
    raise ItemUnreadable(CONTENT_MISSING, "the image cell has neither bytes nor a path")
