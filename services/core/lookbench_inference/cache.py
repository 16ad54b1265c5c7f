"""Vectors kept on disk between runs: what was embedded once is not embedded again."""

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from lookbench_inference import cache_blocks as blocks
from lookbench_inference.cache_blocks import Choice, Use
from lookbench_inference.cache_eviction import (
    Pruned,
    give_back_some,
    remove_some,
    steps_to_give_back,
    store,
)
from lookbench_inference.cache_faults import FAULTS, Fault, Faults, diagnosis
from lookbench_inference.cache_file import (
    FILE_NAME,
    CacheFile,
    file_bytes,
    transaction,
)
from lookbench_inference.cache_frames import Frames, content_key, packed
from lookbench_inference.cache_lookup import Hits, LookUp
from lookbench_inference.errors import CacheUnavailable
from lookbench_inference.space import VectorSpace

T = TypeVar("T")
__all__ = ["CacheSummary", "EmbeddingCache", "Hits", "Pruned", "Use"]


@dataclass(frozen=True)
class CacheSummary:
    """What the cache holds. size_bytes: on disk, with indices; limit_bytes 0: switched off."""

    path: Path
    limit_bytes: int
    size_bytes: int
    uses: tuple[Use, ...] = ()

    @property
    def entries(self) -> int:
        """Vectors of all spaces."""
        return sum(use.entries for use in self.uses)


class EmbeddingCache:
    """Vectors by space and content, in `<folder>/embeddings.sqlite3`, at most `limit_bytes`.

    The limit holds for the file with its write-ahead log; 0 switches the cache off: nothing
    is read or written. When it is reached, what was not used for longest makes way.

    Methods block; any number of threads and processes may use one folder. `get` and `put`
    never fail for what is wrong with the file or the disk: they log it and go on without.
    `summary` and `prune`, which people ask for, raise CacheUnavailable.
    """

    def __init__(
        self, folder: Path, limit_bytes: int, now: Callable[[], float] = time.time
    ) -> None:
        self.path = folder / FILE_NAME
        self.limit_bytes = limit_bytes
        self._now = now
        self._guard = threading.Lock()
        self._file = CacheFile(self.path, limit_bytes)
        self._faults = Faults(self.path)
        self._closed = False

    def get(self, space: VectorSpace, digests: Sequence[str]) -> Hits:
        """Look-up of contents by `sha256:<hex>`; the same digest may stand there twice.

        Raises ValueError for a digest of another form.
        """
        contents = [content_key(digest) for digest in digests]
        row_of = {content: row for row, content in enumerate(dict.fromkeys(contents))}
        look_up = LookUp(space, list(row_of))
        if contents:
            self._try("reading", look_up.read)
        if look_up.is_worth_noting:
            self._try("writing", lambda db: self._note(db, look_up))
        if len(row_of) == len(contents):
            return look_up.hits
        return look_up.hits.taken([row_of[content] for content in contents])

    def put(
        self,
        space: VectorSpace,
        digests: Sequence[str],
        vectors: npt.NDArray[np.float32],
        truncated: npt.NDArray[np.bool_],
    ) -> None:
        """Stores vectors float32 [N, D], in one transaction; what is there already stays.

        Raises ValueError for vectors of another shape or type, or that are not finite,
        unless the cache is off.
        """
        if not self.limit_bytes:
            return
        contents = [content_key(digest) for digest in digests]
        _check(space, contents, vectors, truncated)
        if contents:
            frames = packed(space, contents, vectors, truncated)
            self._try("writing", lambda db: self._add(db, space, contents, frames))

    def summary(self) -> CacheSummary:
        """What is stored, by space. Raises CacheUnavailable."""
        if self._file.is_absent():
            return CacheSummary(self.path, self.limit_bytes, 0)
        uses = self._asked(blocks.uses)
        return CacheSummary(self.path, self.limit_bytes, self._file.size(), tuple(uses))

    def prune(
        self,
        *,
        max_bytes: int | None = None,
        older_than_s: float | None = None,
        model: str | None = None,
        everything: bool = False,
    ) -> Pruned:
        """Removes vectors and returns their space to the disk.

        everything: all of them, and a damaged file that was kept. Otherwise those
        of `model` that were not used for `older_than_s` seconds; of these, with
        `max_bytes`, only so many, least recently used first, that the file is not larger.

        Raises ValueError when nothing, or `everything` with something else, is
        asked for; CacheUnavailable.
        """
        narrowed = (max_bytes, older_than_s, model) != (None, None, None)
        if everything == narrowed:
            raise ValueError("give everything, or at least one of the other conditions")
        if everything:
            return self._asked(self._remove_all)
        if self._file.is_absent():
            return Pruned()
        since = None if older_than_s is None else self._now() - older_than_s
        return self._prune(max_bytes or 0, model, since)

    def close(self) -> None:
        """Closes the file; what is asked later finds and stores nothing."""
        with self._guard:
            self._closed = True
            self._file.close()

    # What runs do

    def _try(self, work: str, step: Callable[[sqlite3.Connection], T]) -> T | None:
        """The outcome of `step`; None when the file does not allow it, which is logged."""
        with self._guard:
            if self._closed or not self.limit_bytes or self._faults.paused(work):
                return None
            try:
                return step(self._file.connection())
            except FAULTS as error:
                self._recover(work, error)
        return None

    def _recover(self, work: str, error: Fault) -> None:
        if self._faults.note(work, error):
            try:
                self._file.discard()
            except OSError as second:
                self._faults.note(work, second)

    def _note(self, db: sqlite3.Connection, look_up: LookUp) -> None:
        look_up.note(db, self._now())
        if look_up.damaged:
            problem = f"{len(look_up.damaged)} dropped; look at the disk"
            self._faults.warn("damaged entries", problem)

    def _add(
        self, db: sqlite3.Connection, space: VectorSpace, contents: list[bytes], frames: Frames
    ) -> None:
        with transaction(db):
            row_of = dict(zip(contents, range(len(contents)), strict=True))
            for place in blocks.places(db, blocks.space_id(db, space) or 0, list(row_of)):
                row_of.pop(place.content, None)
            if row_of:
                new = frames[list(row_of.values())]
                store(db, space, new, self._file.room_bytes(db), self._now())
        if file_bytes(db) > self._file.target_bytes:  # the limit was lowered
            give_back_some(db)
        self._file.flush_long_log()

    # What people ask for

    def _asked(self, step: Callable[[sqlite3.Connection], T]) -> T:
        with self._guard:
            if self._closed:
                raise CacheUnavailable(f"{self.path}: the evaluator is stopping", path=self.path)
            try:
                return step(self._file.connection())
            except FAULTS as error:
                kind, problem = diagnosis(error)
                if kind == "damaged":
                    self._recover("asking", error)
                raise CacheUnavailable(
                    f"{self.path}: {problem}", path=self.path, state=kind, problem=problem
                ) from error

    def _remove_all(self, db: sqlite3.Connection) -> Pruned:
        removed = Pruned(*blocks.totals(db))
        self._file.discard()
        self._file.damaged.unlink(missing_ok=True)
        return removed

    def _prune(self, max_bytes: int, model: str | None, since: float | None) -> Pruned:
        """In steps, between which runs have their turn."""
        choice = Choice(self._asked(blocks.last_block), model, since)
        removed = Pruned()
        while part := self._asked(lambda db: remove_some(db, choice, max_bytes)):
            removed += part
        for _ in range(self._asked(steps_to_give_back)):
            self._asked(give_back_some)
        self._asked(lambda _: self._file.flush_log())
        return removed


def _check(
    space: VectorSpace,
    contents: list[bytes],
    vectors: npt.NDArray[np.float32],
    truncated: npt.NDArray[np.bool_],
) -> None:
    wanted = (len(contents), space.dimension)
    if vectors.shape != wanted or vectors.dtype != np.float32:
        raise ValueError(
            f"vectors to keep are {vectors.dtype} {vectors.shape}, not float32 {wanted}"
        )
    if truncated.shape != wanted[:1]:
        raise ValueError(f"{truncated.shape[0]} flags belong to {wanted[0]} vectors")
    if not np.isfinite(vectors).all():
        row = int(np.argmin(np.isfinite(vectors).all(axis=1)))
        raise ValueError(f"the vector of row {row} is not finite; it is not kept")
