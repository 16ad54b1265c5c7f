"""What one run has to keep embeddings in."""

from dataclasses import dataclass
from pathlib import Path

from lookbench_evaluator.runs.shards import ShardLedger
from lookbench_inference.cache import EmbeddingCache

SHARD_ROWS = 256


@dataclass(frozen=True)
class Workspace:
    """folder: of the run's vectors. shard_rows: rows that are committed together."""

    run_id: str
    folder: Path
    ledger: ShardLedger
    cache: EmbeddingCache
    shard_rows: int = SHARD_ROWS
