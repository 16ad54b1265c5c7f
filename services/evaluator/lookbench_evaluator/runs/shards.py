"""Which parts of a run's embeddings are done.

A run embeds collections in shards of consecutive rows. A shard counts once it is
committed here, with the key of what was embedded and a checksum of the vectors in
the run's file; doing it again is harmless.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookbench_core.digests import data_digest
from lookbench_evaluator.retrieval.vectors import Vectors
from lookbench_evaluator.runs.database import Database
from lookbench_inference.space import VectorSpace


@dataclass(frozen=True)
class Shard:
    """A committed shard. `start` is its first row, `truncated` counts texts that were cut."""

    start: int
    key: str
    checksum: int
    truncated: int


def shard_key(space: VectorSpace, content_digests: Sequence[str]) -> str:
    """What decides a shard's vectors: the space and the contents, row by row."""
    return data_digest([space.digest, *content_digests])


def checksum(vectors: Vectors) -> int:
    """CRC-32 of the numbers' bytes."""
    return zlib.crc32(np.ascontiguousarray(vectors).data)


class ShardLedger:
    """The committed shards of all runs that have not succeeded yet. Blocks on the disk."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def committed(self, run_id: str, part: str) -> dict[int, Shard]:
        """First row → shard. `part` names a collection and its side within the run."""
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT start, key, checksum, truncated FROM shards WHERE run_id = ? AND part = ?",
                (run_id, part),
            ).fetchall()
        return {row[0]: Shard(*row) for row in rows}

    def commit(self, run_id: str, part: str, shard: Shard) -> None:
        """Makes a shard count, in place of what was committed of the same rows."""
        with self._database.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO shards VALUES (?, ?, ?, ?, ?, ?)",
                (run_id, part, shard.start, shard.key, shard.checksum, shard.truncated),
            )
