"""Embedding whole collections, a few chunks at a time."""

import asyncio
from collections.abc import Iterator, Sequence

import numpy as np

from lookbench_evaluator.benchmarks.collection import Collection
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.retrieval.vectors import Vectors
from lookbench_evaluator.runs.progress import Tracker
from lookbench_inference.batching import run_bounded
from lookbench_inference.ports import Embedder

CHUNK_ROWS = 256
# While one chunk's last requests are answered, the next one is being prepared.
CHUNKS_UNDER_WAY = 2

Chunk = tuple[int, Sequence[bytes | str]]


async def embed_collection(
    stored: StoredBenchmark, collection: Collection, embedder: Embedder, tracker: Tracker
) -> tuple[Vectors, int]:
    """float32 [N, D] in the order of the collection, and how many texts were cut."""
    ids = collection.ids
    vectors = np.full((len(ids), embedder.dimension), np.nan, dtype=np.float32)
    chunks: Iterator[Chunk] = iter(stored.contents(collection.name, CHUNK_ROWS))
    reading = asyncio.Lock()
    truncated = 0

    async def work() -> None:
        nonlocal truncated
        while True:
            async with reading:
                chunk = await asyncio.to_thread(next, chunks, None)
            if chunk is None:
                return
            start, contents = chunk
            rows = slice(start, start + len(contents))
            embedded = await embedder.embed(ids[rows], contents, tracker.advance)
            vectors[rows] = embedded.vectors
            truncated += int(embedded.truncated.sum())

    await run_bounded([work] * CHUNKS_UNDER_WAY, CHUNKS_UNDER_WAY)
    return vectors, truncated
