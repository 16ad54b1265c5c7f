"""Embedding whole collections, shard by shard, so that what is done stays done."""

import asyncio
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from lookbench_evaluator.benchmarks.collection import Collection
from lookbench_evaluator.benchmarks.contents import ContentReader
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.retrieval.vectors import Ints, Vectors, chunks
from lookbench_evaluator.runs.progress import Tracker
from lookbench_evaluator.runs.shards import Shard, checksum, shard_key
from lookbench_evaluator.runs.workspace import Workspace
from lookbench_evaluator.tasks.vector_file import VectorFile
from lookbench_inference.batching import run_bounded
from lookbench_inference.cache import Hits
from lookbench_inference.ports import Embedder

Side = Literal["query", "item"]
SHARDS_UNDER_WAY = 2
"""While one shard's last requests are answered, the next one is being prepared."""


@dataclass(frozen=True)
class EmbeddedCollection:
    """`path`: .npy of float32 [N, D] in the order of the collection; `truncated`: texts cut."""

    path: Path
    truncated: int


async def embed_collection(
    stored: StoredBenchmark,
    collection: Collection,
    side: Side,
    embedder: Embedder,
    *,
    workspace: Workspace,
    tracker: Tracker,
) -> EmbeddedCollection:
    """Embeds what neither an earlier execution of the run nor the cache has.

    Memory does not grow with the collection's contents: SHARDS_UNDER_WAY shards are
    held. Raises what the embedder raises, BenchmarkInvalid, StoreUnavailable; shards
    that were committed before stay.
    """
    path = workspace.folder / f"{side}-{collection.name}.npy"
    with (
        await asyncio.to_thread(VectorFile, path, len(collection), embedder.dimension) as file,
        await asyncio.to_thread(stored.reader, collection.name) as reader,
    ):
        work = _Embedding(
            collection,
            f"{side}-{collection.name}",
            embedder,
            workspace=workspace,
            tracker=tracker,
            file=file,
            reader=reader,
        )
        await asyncio.to_thread(work.find_committed)
        await run_bounded([work.shards] * SHARDS_UNDER_WAY, SHARDS_UNDER_WAY)
    return EmbeddedCollection(path, work.truncated)


@dataclass(frozen=True)
class _Begun:
    """A shard with what the cache had of it, and the contents of the rest."""

    start: int
    key: str
    digests: list[str]
    hits: Hits
    missing: Ints
    contents: list[bytes | str]


class _Embedding:
    """One collection on its way into a file."""

    def __init__(
        self,
        collection: Collection,
        part: str,
        embedder: Embedder,
        *,
        workspace: Workspace,
        tracker: Tracker,
        file: VectorFile,
        reader: ContentReader,
    ) -> None:
        self._collection, self._embedder = collection, embedder
        self._workspace, self._tracker = workspace, tracker
        self._file, self._reader = file, reader
        self._part = part
        self._open: deque[tuple[slice, str]] = deque()
        self._beginning = asyncio.Lock()
        self.truncated = 0

    def find_committed(self) -> None:
        """Sorts the shards into done and open; what does not have its checksum is open."""
        committed = self._workspace.ledger.committed(self._workspace.run_id, self._part)
        for rows in chunks(len(self._collection), self._workspace.shard_rows):
            key = shard_key(self._embedder.space, self._collection.content_digests[rows])
            shard = committed.get(rows.start)
            if shard is not None and self._intact(shard, rows, key):
                self.truncated += shard.truncated
                self._tracker.resume(rows.stop - rows.start)
            else:
                self._open.append((rows, key))

    def _intact(self, shard: Shard, rows: slice, key: str) -> bool:
        return (
            shard.key == key and checksum(self._file.read(rows.start, rows.stop)) == shard.checksum
        )

    async def shards(self) -> None:
        """Takes open shards, one after the other, until none is left."""
        while True:
            # One at a time, so that contents are read in order.
            async with self._beginning:
                if not self._open:
                    return
                begun = await asyncio.to_thread(self._begin, *self._open.popleft())
            vectors, truncated = await self._completed(begun)
            await asyncio.to_thread(self._commit, begun, vectors, truncated)
            self.truncated += truncated

    def _begin(self, rows: slice, key: str) -> _Begun:
        digests = self._collection.content_digests[rows]
        hits = self._workspace.cache.get(self._embedder.space, digests)
        missing = np.flatnonzero(~hits.found)
        contents = self._reader.read((missing + rows.start).tolist())
        return _Begun(rows.start, key, digests, hits, missing, contents)

    async def _completed(self, begun: _Begun) -> tuple[Vectors, int]:
        hits, missing = begun.hits, begun.missing
        self._tracker.hit(len(begun.digests) - len(missing))
        if not len(missing):
            return hits.vectors, int(hits.truncated.sum())
        ids = [self._collection.ids[begun.start + row] for row in missing.tolist()]
        embedded = await self._embedder.embed(ids, begun.contents, self._tracker.advance)
        hits.vectors[missing] = embedded.vectors
        hits.truncated[missing] = embedded.truncated
        return hits.vectors, int(hits.truncated.sum())

    def _commit(self, begun: _Begun, vectors: Vectors, truncated: int) -> None:
        """Keeps a shard: the vectors first, the word that they are there last."""
        self._file.write(begun.start, vectors)
        if len(begun.missing):
            self._workspace.cache.put(
                self._embedder.space,
                [begun.digests[row] for row in begun.missing.tolist()],
                vectors[begun.missing],
                begun.hits.truncated[begun.missing],
            )
        shard = Shard(begun.start, begun.key, checksum(vectors), truncated)
        self._workspace.ledger.commit(self._workspace.run_id, self._part, shard)
