"""What a run produced: one record a query, and the report."""

from pydantic import BaseModel, ConfigDict


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, ser_json_inf_nan="constants")


class MetricValue(_Value):
    """One metric over one set of queries; `value` is None when no query could be counted."""

    subset: str
    judgement: str
    metric: str
    cutoff: int
    value: float | None
    query_count: int
    no_relevant_count: int


class QueryMetric(_Value):
    """One metric of one query."""

    judgement: str
    metric: str
    cutoff: int
    value: float
    no_relevant: bool


class QueryResult(_Value):
    """Ranking and metrics of one query, best item first."""

    subset: str
    query_id: str
    group: str
    items: tuple[str, ...]
    scores: tuple[float, ...]
    grades: dict[str, tuple[float, ...]]
    """Judgement → grade of each ranked item."""
    metrics: tuple[QueryMetric, ...]
    ties: int


class SubsetSummary(_Value):
    """Sizes of one subset as it was evaluated."""

    subset: str
    query_count: int
    item_count: int
    noise_count: int
    tied_query_count: int


class DuplicateGroup(_Value):
    """Items of one gallery with byte-identical content; of many, the first are named."""

    subset: str
    item_ids: tuple[str, ...]
    item_count: int
    labels_disagree: bool


class RejectedRow(_Value):
    """A row of the source that was not used."""

    collection: str
    row: int
    id: str
    reason: str
    message: str


class Report(_Value):
    """The numbers of a run and what must be known to read them.

    The lists of rows and groups are cut for transport; the counts are not.
    """

    metrics: tuple[MetricValue, ...]
    subsets: tuple[SubsetSummary, ...]
    headline_judgement: str
    notes: tuple[str, ...] = ()
    rejected: tuple[RejectedRow, ...] = ()
    rejected_count: int = 0
    truncated_count: int = 0
    duplicates: tuple[DuplicateGroup, ...] = ()
    duplicate_group_count: int = 0
