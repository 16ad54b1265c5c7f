"""What a reader returns: a benchmark that can be streamed, nothing of it decoded yet."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

from lookbench_core.benchmark import Judgement, Modality, SourceInfo, Subset

# Reasons for which a row is rejected; docs/benchmarks.md explains each. The
# reasons of contents that cannot be decoded stand in lookbench_inference.
ID_MISSING = "ID_MISSING"
ID_INVALID = "ID_INVALID"
DUPLICATE_ID = "DUPLICATE_ID"
CONTENT_MISSING = "CONTENT_MISSING"
FILE_MISSING = "FILE_MISSING"
FILE_UNREADABLE = "FILE_UNREADABLE"
FILE_TOO_LARGE = "FILE_TOO_LARGE"
PATH_OUTSIDE_SOURCE = "PATH_OUTSIDE_SOURCE"
LABEL_INVALID = "LABEL_INVALID"
LINE_UNREADABLE = "LINE_UNREADABLE"
TIME_INVALID = "TIME_INVALID"

LABEL_METRICS = ("hit", "recall", "precision", "mrr", "ndcg_binary", "map_r", "map_capped")
"""Default metrics where equal labels decide, so that every grade is 0 or 1."""


Side = Literal["query", "item"]


@dataclass(frozen=True, slots=True)
class Row:
    """One query or item.

    row: where it stands in its source: the line, from 1, in text files, the
    position, from 0, in tables and arrays.
    content: an encoded image, or a text.
    labels: by name; None = absent, which never equals anything.
    group: rows of one group are not independent; None = a group of its own.
    """

    row: int
    id: str
    content: bytes | str
    labels: Mapping[str, str | None]
    group: str | None = None
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that cannot be used. `id` is empty where the row has none."""

    row: int
    id: str
    reason: str
    message: str


@dataclass(frozen=True)
class CollectionSource:
    """The rows of one collection.

    rows: a function, so that they can be read more than once, and lazily.
    """

    name: str
    side: Side
    modality: Modality
    labels: tuple[str, ...]
    rows: Callable[[], Iterable[Row | Rejected]]


@dataclass(frozen=True)
class QrelsSource:
    """Explicit judgements: rows of (line, query id, item id, grade >= 0) of one file."""

    file: str
    rows: Callable[[], Iterable[tuple[int, str, str, float]]]


@dataclass(frozen=True)
class Source:
    """A benchmark before import. `info.options` holds every option, defaults included.

    default_metrics: names without cutoffs, those of `lookbench_metrics.registry`.
    notes: what the reader changed or noticed; complete once all rows were read.
    """

    info: SourceInfo
    title: str
    subsets: Sequence[Subset]
    judgements: Sequence[Judgement]
    headline: str
    default_metrics: Sequence[str]
    collections: Sequence[CollectionSource]
    qrels: Mapping[str, QrelsSource] = field(default_factory=dict)
    release_date: date | None = None
    notes: Callable[[], Sequence[str]] = tuple
