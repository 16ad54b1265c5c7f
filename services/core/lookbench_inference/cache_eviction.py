"""Keeping the cache's file within its limit: eviction before storing, pruning on request."""

import math
import sqlite3
from dataclasses import dataclass

from lookbench_inference import cache_blocks as blocks
from lookbench_inference.cache_blocks import Choice
from lookbench_inference.cache_file import free_pages, give_back, transaction, used_bytes
from lookbench_inference.cache_frames import Frames
from lookbench_inference.space import VectorSpace

# Evicted in one transaction beyond what is stored in it: a lowered limit is reached by and by.
_BLOCKS_AT_ONCE = 64
_PAGES_AT_ONCE = 1024
_INDEX_BYTES = 128  # of one entry, beside its frame


@dataclass(frozen=True)
class Pruned:
    """What was removed: vectors, and their bytes without indices."""

    entries: int = 0
    bytes: int = 0

    def __add__(self, other: "Pruned") -> "Pruned":
        return Pruned(self.entries + other.entries, self.bytes + other.bytes)


def store(
    db: sqlite3.Connection, space: VectorSpace, frames: Frames, target_bytes: int, now: float
) -> None:
    """Adds frames as blocks once there is room for them; leaves it where there is none.

    In the caller's transaction.
    """
    portions = list(blocks.cut(frames))
    size = len(frames) * (frames.dtype.itemsize + _INDEX_BYTES)
    if not _make_room(db, target_bytes - size, _BLOCKS_AT_ONCE + len(portions)):
        return
    number, used = blocks.add_space(db, space), blocks.next_use(db)
    for portion in portions:
        blocks.add_block(db, number, portion, used, now)


def _make_room(db: sqlite3.Connection, target_bytes: int, most: int) -> bool:
    """Evicts at most `most` blocks; whether what is left takes no more than `target_bytes`."""
    if target_bytes < 0:
        return False
    for block in blocks.oldest(db, Choice(blocks.last_block(db)), most):
        if used_bytes(db) <= target_bytes:
            break
        blocks.remove_block(db, block)
    return used_bytes(db) <= target_bytes


def remove_some(db: sqlite3.Connection, choice: Choice, target_bytes: int) -> Pruned | None:
    """Removes some blocks of the choice, until no more than `target_bytes` are used.

    None when there is nothing left to remove.
    """
    removed = None
    with transaction(db):
        for block in blocks.oldest(db, choice, _BLOCKS_AT_ONCE):
            if used_bytes(db) <= target_bytes:
                break
            removed = (removed or Pruned()) + Pruned(*blocks.remove_block(db, block))
    return removed


def steps_to_give_back(db: sqlite3.Connection) -> int:
    """How many calls of `give_back_some` return all free pages."""
    return math.ceil(free_pages(db) / _PAGES_AT_ONCE)


def give_back_some(db: sqlite3.Connection) -> None:
    """Returns some free pages to the file system."""
    give_back(db, _PAGES_AT_ONCE)
