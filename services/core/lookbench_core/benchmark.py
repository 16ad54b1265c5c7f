"""The internal benchmark format: a folder that every reader is converted into.

    <benchmark>/
      benchmark.json                 BenchmarkManifest
      collections/<name>.parquet     one row an item or query, ordered as read
      qrels/<judgement>.parquet      query_id, item_id, grade (explicit judgements only)
      rejected.parquet               collection, row, id, reason, message

A collection has the columns `id` (string, unique within the benchmark's
collections of the same side), `image` (struct of bytes and path) or `text`,
`content_digest`, `group` (null = the row is its own group), `time` (UTC
timestamp or null) and `label_<name>` (string or null).
"""

from datetime import date
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

FORMAT_VERSION: Final = 1
MANIFEST_NAME = "benchmark.json"
LABEL_PREFIX = "label_"

Modality = Literal["image", "text"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Subset(_Part):
    """One set of queries and the galleries they search, noise apart."""

    name: str
    queries: str
    galleries: tuple[str, ...]
    noise: tuple[str, ...] = ()


class Judgement(_Part):
    """A rule for relevance.

    `equal`: an item is relevant (grade 1) when every label of `labels` is
    present on both sides and equal. `qrels`: grades stand in a table; what is
    not listed has grade 0.
    """

    name: str
    description: str
    kind: Literal["equal", "qrels"]
    labels: tuple[str, ...] = ()


class CollectionCounts(_Part):
    """`rows_in` = `rows_out` + `rows_rejected`."""

    name: str
    modality: Modality
    rows_in: int
    rows_out: int
    rows_rejected: int


class SourceInfo(_Part):
    """What was imported."""

    format: str
    path: str
    options: dict[str, str]


class BenchmarkManifest(_Part):
    """Contents of `benchmark.json`. No time of import: same source, same bytes."""

    format_version: Literal[1] = FORMAT_VERSION
    id: str
    title: str
    query_modality: Modality
    item_modality: Modality
    subsets: tuple[Subset, ...]
    judgements: tuple[Judgement, ...]
    headline_judgement: str
    default_metrics: tuple[str, ...]
    """Names without cutoffs."""
    collections: tuple[CollectionCounts, ...]
    source: SourceInfo
    release_date: date | None = None
    notes: tuple[str, ...] = ()
    """What the reader changed or noticed, for the report."""
    digest: str
