"""One look-up in the cache: which contents are there, and what to note of that afterwards."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from lookbench_inference import cache_blocks as blocks
from lookbench_inference.cache_blocks import Place
from lookbench_inference.cache_file import transaction
from lookbench_inference.cache_frames import Frames, intact
from lookbench_inference.space import VectorSpace


@dataclass(frozen=True)
class Hits:
    """What a look-up found: row i belongs to digest i.

    found: bool [N]. vectors: float32 [N, D], NaN where nothing was found.
    truncated: bool [N], texts that were longer than the model accepts.
    """

    found: npt.NDArray[np.bool_]
    vectors: npt.NDArray[np.float32]
    truncated: npt.NDArray[np.bool_]

    @classmethod
    def none(cls, number: int, dimension: int) -> "Hits":
        """Nothing was found."""
        return cls(
            np.zeros(number, np.bool_),
            np.full((number, dimension), np.nan, np.float32),
            np.zeros(number, np.bool_),
        )

    def taken(self, rows: Sequence[int]) -> "Hits":
        """Row i is row rows[i] of these."""
        return Hits(self.found[rows], self.vectors[rows], self.truncated[rows])


class LookUp:
    """Contents, each once, in one space; `hits` is filled in block by block."""

    def __init__(self, space: VectorSpace, contents: Sequence[bytes]) -> None:
        self.space = space
        self.contents = contents
        self.hits = Hits.none(len(contents), space.dimension)
        self._number = 0
        self._row_of = {content: row for row, content in enumerate(contents)}
        self._used: list[int] = []
        self.damaged: list[Place] = []

    def read(self, db: sqlite3.Connection) -> None:
        """Fills in what is stored, as of one moment."""
        frames: list[Frames] = []
        stored: list[Place] = []
        with transaction(db, "DEFERRED"):
            self._number = blocks.space_id(db, self.space) or 0
            places = blocks.places(db, self._number, self.contents)
            for block, group in groupby(places, key=attrgetter("block")):
                here = list(group)
                part = blocks.frames_at(db, self.space, block, [at.position for at in here])
                if len(part):
                    frames.append(part)
                    stored += here
                else:
                    self.damaged += here
        if stored:
            self._take(np.concatenate(frames), stored)

    def _take(self, frames: Frames, stored: list[Place]) -> None:
        right = intact(self.space, frames, [place.content for place in stored])
        rows = np.array([self._row_of[place.content] for place in stored])[right]
        self.hits.found[rows] = True
        self.hits.vectors[rows] = frames["vector"][right]
        self.hits.truncated[rows] = frames["truncated"][right]
        checked = list(zip(stored, right, strict=True))
        self._used = list(dict.fromkeys(place.block for place, fine in checked if fine))
        self.damaged += [place for place, fine in checked if not fine]

    @property
    def is_worth_noting(self) -> bool:
        """Whether anything was used, or is to be dropped."""
        return bool(self._used or self.damaged)

    def note(self, db: sqlite3.Connection, now: float) -> None:
        """Stamps what was used, forgets what is damaged. now: Unix seconds."""
        with transaction(db):
            blocks.stamp(db, self._used, blocks.next_use(db), now)
            blocks.drop_entries(db, self._number, self.damaged)
