"""An embedder whose vectors are known by hand, and a workspace of a run."""

from contextlib import contextmanager
from datetime import UTC, datetime

import numpy as np

from lookbench_evaluator.runs.database import Database
from lookbench_evaluator.runs.model import Dense, Encoder, Run, Specification, System
from lookbench_evaluator.runs.shards import ShardLedger
from lookbench_evaluator.runs.store import PendingLimit, RunStore
from lookbench_evaluator.runs.workspace import Workspace
from lookbench_inference.cache import EmbeddingCache
from lookbench_inference.ports import Embedded
from lookbench_inference.space import VectorSpace

SYSTEM = System(dense=Dense(query_encoder=Encoder(model="m"), item_encoder=Encoder(model="m")))


class Angles:
    """Embeds the text `30` as the unit vector at 30 degrees; a cut text has a `!`."""

    dimension = 2

    def __init__(self, truncated=False, role="query", fails_at=None):
        self.truncated, self.fails_at = truncated, fails_at
        self.space = VectorSpace("m", "g", "w", "", role, "", "", "p", "fp32", 2)
        self.embedded = []

    async def embed(self, ids, contents, on_rows):
        if self.fails_at in ids:
            raise ConnectionError("no server")
        self.embedded.extend(ids)
        radians = np.deg2rad([float(text.strip("!")) for text in contents])
        on_rows(len(ids))
        vectors = np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)
        return Embedded(vectors, np.array([self.truncated or "!" in text for text in contents]))


@contextmanager
def a_workspace(folder, cache_bytes=0, shard_rows=256):
    """The workspace of run `r`, in a store of its own that knows a run `s` too."""
    database = Database(folder / "store")
    store = RunStore(database, lambda run: None, PendingLimit(10, 10))
    for run_id in {"r", "s"} - store.resumable():
        spec = Specification(benchmark="b", system=SYSTEM)
        store.create(Run(id=run_id, specification=spec, created=datetime.now(UTC)), "", "", 0.0)
    vectors = folder / "vectors"
    vectors.mkdir(exist_ok=True)
    cache = EmbeddingCache(folder / "cache", cache_bytes)
    try:
        yield Workspace("r", vectors, ShardLedger(database), cache, shard_rows)
    finally:
        database.close()
