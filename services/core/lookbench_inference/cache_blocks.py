"""What the cache's file holds: blocks of vectors, and an index of what lies where.

Vectors that are stored together lie together: a block is read with one access, carries one
stamp of its last use, and is evicted as a whole.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np

from lookbench_inference.cache_frames import Frames, frame_type
from lookbench_inference.space import VectorSpace

BLOCK_BYTES = 256 << 10
# used: larger is later. It counts uses; the wall clock may jump, and only people look at it.
SCHEMA = (
    """CREATE TABLE spaces (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        digest TEXT NOT NULL UNIQUE, model TEXT NOT NULL, fields BLOB NOT NULL)""",
    """CREATE TABLE blocks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        space INTEGER NOT NULL, used INTEGER NOT NULL,
        entries INTEGER NOT NULL, bytes INTEGER NOT NULL,
        created REAL NOT NULL, last_used REAL NOT NULL)""",
    "CREATE INDEX blocks_by_use ON blocks (used)",
    "CREATE INDEX blocks_by_space ON blocks (space)",
    "CREATE TABLE vectors (block INTEGER PRIMARY KEY, frames BLOB NOT NULL)",
    """CREATE TABLE entries (
        space INTEGER NOT NULL, content BLOB NOT NULL,
        block INTEGER NOT NULL, position INTEGER NOT NULL,
        PRIMARY KEY (space, content)) WITHOUT ROWID""",
    "CREATE INDEX entries_by_block ON entries (block)",
)
_ASKED_AT_ONCE = 500


@dataclass(frozen=True)
class Place:
    """Where the vector of a content lies."""

    content: bytes
    block: int
    position: int


@dataclass(frozen=True)
class Use:
    """Vectors of one space: how many, payload bytes, first stored and last used (Unix seconds)."""

    space: VectorSpace
    entries: int
    bytes: int
    created: float
    last_used: float


@dataclass(frozen=True)
class Choice:
    """Blocks that may go: of one model, not used since (Unix seconds), none after `last_block`."""

    last_block: int
    model: str | None = None
    not_used_since: float | None = None


def space_id(db: sqlite3.Connection, space: VectorSpace) -> int | None:
    """The number of a space; None when nothing is stored of it."""
    row = db.execute("SELECT id FROM spaces WHERE digest = ?", (space.digest,)).fetchone()
    return None if row is None else int(row[0])


def add_space(db: sqlite3.Connection, space: VectorSpace) -> int:
    """The number of a space, a new one if need be."""
    db.execute(
        "INSERT OR IGNORE INTO spaces (digest, model, fields) VALUES (?, ?, ?)",
        (space.digest, space.model, json.dumps(asdict(space)).encode()),
    )
    return int(space_id(db, space) or 0)


def places(db: sqlite3.Connection, space: int, contents: Sequence[bytes]) -> list[Place]:
    """Where those of `contents` lie that are stored, block by block."""
    asked = set(contents)
    found: list[Place] = []
    for start in range(0, len(contents), _ASKED_AT_ONCE):
        part = contents[start : start + _ASKED_AT_ONCE]
        marks = ",".join("?" * len(part))
        rows = db.execute(
            "SELECT content, block, position FROM entries "  # noqa: S608 - only question marks
            f"WHERE space = ? AND content IN ({marks})",
            (space, *part),
        )
        # A damaged index answers with other contents, and with columns of another type.
        found += [
            Place(content, block, at)
            for content, block, at in rows
            if content in asked and type(block) is type(at) is int
        ]
    return sorted(found, key=lambda place: (place.block, place.position))


def frames_at(
    db: sqlite3.Connection, space: VectorSpace, block: int, positions: Sequence[int]
) -> Frames:
    """The frames at ascending `positions`; none when the block does not reach that far."""
    kind = frame_type(space.dimension)
    first, last = positions[0], positions[-1]
    data = _part(db, block, first * kind.itemsize, (last + 1) * kind.itemsize)
    if data is None:
        return np.empty(0, kind)
    frames: Frames = np.frombuffer(data, kind).take(np.asarray(positions) - first)
    return frames


def _part(db: sqlite3.Connection, block: int, start: int, end: int) -> bytes | None:
    try:
        with db.blobopen("vectors", "frames", block, readonly=True) as blob:
            if not 0 <= start < end <= len(blob):
                return None
            blob.seek(start)
            return blob.read(end - start)
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # no such block
            return None
        raise


def cut(frames: Frames) -> Iterator[Frames]:
    """Frames in portions of one block."""
    step = max(1, BLOCK_BYTES // frames.dtype.itemsize)
    for start in range(0, len(frames), step):
        yield frames[start : start + step]


def next_use(db: sqlite3.Connection) -> int:
    """A stamp larger than all others."""
    return int(db.execute("SELECT coalesce(max(used), 0) + 1 FROM blocks").fetchone()[0])


def add_block(db: sqlite3.Connection, space: int, frames: Frames, used: int, now: float) -> None:
    """Stores one block; an entry of the same content is taken over by it."""
    data = frames.tobytes()
    block = db.execute(
        "INSERT INTO blocks (space, used, entries, bytes, created, last_used) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (space, used, len(frames), len(data), now, now),
    ).lastrowid
    db.execute("INSERT INTO vectors (block, frames) VALUES (?, ?)", (block, data))
    db.executemany(
        "INSERT OR REPLACE INTO entries (space, content, block, position) VALUES (?, ?, ?, ?)",
        [(space, frame["content"].tobytes(), block, at) for at, frame in enumerate(frames)],
    )


def stamp(db: sqlite3.Connection, blocks: Sequence[int], used: int, now: float) -> None:
    """Notes that blocks were used."""
    db.executemany(
        "UPDATE blocks SET used = ?, last_used = ? WHERE id = ?",
        [(used, now, block) for block in blocks],
    )


def drop_entries(db: sqlite3.Connection, space: int, dropped: Sequence[Place]) -> None:
    """Forgets entries; their bytes go with their block."""
    for place in dropped:
        gone = db.execute(
            "DELETE FROM entries WHERE space = ? AND content = ? AND block = ?",
            (space, place.content, place.block),
        ).rowcount
        db.execute("UPDATE blocks SET entries = entries - ? WHERE id = ?", (gone, place.block))


def oldest(db: sqlite3.Connection, choice: Choice, limit: int) -> list[int]:
    """Blocks of the choice, least recently used first."""
    rows = db.execute(
        "SELECT id FROM blocks WHERE id <= :last "
        "AND (:model IS NULL OR space IN (SELECT id FROM spaces WHERE model = :model)) "
        "AND (:since IS NULL OR last_used <= :since) ORDER BY used, id LIMIT :limit",
        {
            "last": choice.last_block,
            "model": choice.model,
            "since": choice.not_used_since,
            "limit": limit,
        },
    )
    return [row[0] for row in rows]


def last_block(db: sqlite3.Connection) -> int:
    """The number of the newest block; 0 without any."""
    return int(db.execute("SELECT coalesce(max(id), 0) FROM blocks").fetchone()[0])


def remove_block(db: sqlite3.Connection, block: int) -> tuple[int, int]:
    """Removes a block with its entries; their number and bytes."""
    row = db.execute("SELECT entries, bytes, space FROM blocks WHERE id = ?", (block,)).fetchone()
    db.execute("DELETE FROM entries WHERE block = ?", (block,))
    db.execute("DELETE FROM vectors WHERE block = ?", (block,))
    db.execute("DELETE FROM blocks WHERE id = ?", (block,))
    if row is None:
        return 0, 0
    entries, size, space = row
    db.execute(
        "DELETE FROM spaces WHERE id = ? AND NOT EXISTS (SELECT 1 FROM blocks WHERE space = ?)",
        (space, space),
    )
    return int(entries), int(size)


def uses(db: sqlite3.Connection) -> list[Use]:
    """What each space takes, most recently used first."""
    rows = db.execute(
        "SELECT fields, sum(entries), sum(bytes), min(created), max(last_used) FROM blocks "
        "JOIN spaces ON spaces.id = blocks.space GROUP BY spaces.id ORDER BY max(used) DESC"
    )
    return [Use(_space(stored), *numbers) for stored, *numbers in rows]


def totals(db: sqlite3.Connection) -> tuple[int, int]:
    """Entries and their bytes, all together."""
    row = db.execute("SELECT coalesce(sum(entries), 0), coalesce(sum(bytes), 0) FROM blocks")
    entries, size = row.fetchone()
    return int(entries), int(size)


def _space(text: bytes) -> VectorSpace:
    """The space as it was stored; fields that came later are empty."""
    stored = json.loads(text)
    empty = {field.name: 0 if field.type is int else "" for field in fields(VectorSpace)}
    return VectorSpace(**{name: stored.get(name, empty[name]) for name in empty})
