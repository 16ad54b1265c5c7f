import datetime

from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.api import resource_pb2 as _resource_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Run(_message.Message):
    __slots__ = ("name", "benchmark", "subsets", "system", "options", "display_name", "state", "error", "revision", "create_time", "start_time", "end_time", "progress", "pinned", "caller")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[Run.State]
        PENDING: _ClassVar[Run.State]
        RUNNING: _ClassVar[Run.State]
        SUCCEEDED: _ClassVar[Run.State]
        FAILED: _ClassVar[Run.State]
        CANCELLED: _ClassVar[Run.State]
    STATE_UNSPECIFIED: Run.State
    PENDING: Run.State
    RUNNING: Run.State
    SUCCEEDED: Run.State
    FAILED: Run.State
    CANCELLED: Run.State
    NAME_FIELD_NUMBER: _ClassVar[int]
    BENCHMARK_FIELD_NUMBER: _ClassVar[int]
    SUBSETS_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    name: str
    benchmark: str
    subsets: _containers.RepeatedScalarFieldContainer[str]
    system: System
    options: EvaluationOptions
    display_name: str
    state: Run.State
    error: _status_pb2.Status
    revision: int
    create_time: _timestamp_pb2.Timestamp
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    progress: Progress
    pinned: PinnedVersions
    caller: str
    def __init__(self, name: _Optional[str] = ..., benchmark: _Optional[str] = ..., subsets: _Optional[_Iterable[str]] = ..., system: _Optional[_Union[System, _Mapping]] = ..., options: _Optional[_Union[EvaluationOptions, _Mapping]] = ..., display_name: _Optional[str] = ..., state: _Optional[_Union[Run.State, str]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., revision: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., pinned: _Optional[_Union[PinnedVersions, _Mapping]] = ..., caller: _Optional[str] = ...) -> None: ...

class System(_message.Message):
    __slots__ = ("dense", "lexical", "embeddings", "ranking", "reranker")
    DENSE_FIELD_NUMBER: _ClassVar[int]
    LEXICAL_FIELD_NUMBER: _ClassVar[int]
    EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    RANKING_FIELD_NUMBER: _ClassVar[int]
    RERANKER_FIELD_NUMBER: _ClassVar[int]
    dense: DenseRetriever
    lexical: LexicalRetriever
    embeddings: PrecomputedEmbeddings
    ranking: RankingFile
    reranker: Reranker
    def __init__(self, dense: _Optional[_Union[DenseRetriever, _Mapping]] = ..., lexical: _Optional[_Union[LexicalRetriever, _Mapping]] = ..., embeddings: _Optional[_Union[PrecomputedEmbeddings, _Mapping]] = ..., ranking: _Optional[_Union[RankingFile, _Mapping]] = ..., reranker: _Optional[_Union[Reranker, _Mapping]] = ...) -> None: ...

class DenseRetriever(_message.Message):
    __slots__ = ("query_encoder", "item_encoder")
    QUERY_ENCODER_FIELD_NUMBER: _ClassVar[int]
    ITEM_ENCODER_FIELD_NUMBER: _ClassVar[int]
    query_encoder: Encoder
    item_encoder: Encoder
    def __init__(self, query_encoder: _Optional[_Union[Encoder, _Mapping]] = ..., item_encoder: _Optional[_Union[Encoder, _Mapping]] = ...) -> None: ...

class Encoder(_message.Message):
    __slots__ = ("model", "role", "instruction", "preset", "dimension")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTION_FIELD_NUMBER: _ClassVar[int]
    PRESET_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    model: str
    role: str
    instruction: str
    preset: str
    dimension: int
    def __init__(self, model: _Optional[str] = ..., role: _Optional[str] = ..., instruction: _Optional[str] = ..., preset: _Optional[str] = ..., dimension: _Optional[int] = ...) -> None: ...

class LexicalRetriever(_message.Message):
    __slots__ = ("k1", "b", "stemmer", "stop_words")
    K1_FIELD_NUMBER: _ClassVar[int]
    B_FIELD_NUMBER: _ClassVar[int]
    STEMMER_FIELD_NUMBER: _ClassVar[int]
    STOP_WORDS_FIELD_NUMBER: _ClassVar[int]
    k1: float
    b: float
    stemmer: str
    stop_words: str
    def __init__(self, k1: _Optional[float] = ..., b: _Optional[float] = ..., stemmer: _Optional[str] = ..., stop_words: _Optional[str] = ...) -> None: ...

class PrecomputedEmbeddings(_message.Message):
    __slots__ = ("query_path", "item_path")
    QUERY_PATH_FIELD_NUMBER: _ClassVar[int]
    ITEM_PATH_FIELD_NUMBER: _ClassVar[int]
    query_path: str
    item_path: str
    def __init__(self, query_path: _Optional[str] = ..., item_path: _Optional[str] = ...) -> None: ...

class RankingFile(_message.Message):
    __slots__ = ("path",)
    PATH_FIELD_NUMBER: _ClassVar[int]
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class Reranker(_message.Message):
    __slots__ = ("model", "instruction", "depth", "fusion")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTION_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    FUSION_FIELD_NUMBER: _ClassVar[int]
    model: str
    instruction: str
    depth: int
    fusion: Fusion
    def __init__(self, model: _Optional[str] = ..., instruction: _Optional[str] = ..., depth: _Optional[int] = ..., fusion: _Optional[_Union[Fusion, _Mapping]] = ...) -> None: ...

class Fusion(_message.Message):
    __slots__ = ("method", "weight")
    METHOD_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    method: str
    weight: float
    def __init__(self, method: _Optional[str] = ..., weight: _Optional[float] = ...) -> None: ...

class EvaluationOptions(_message.Message):
    __slots__ = ("metrics", "cutoffs", "judgements", "relevance_threshold", "no_relevant_policy", "rejected_policy", "duplicate_policy", "without_noise", "timeout")
    class NoRelevantPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NO_RELEVANT_POLICY_UNSPECIFIED: _ClassVar[EvaluationOptions.NoRelevantPolicy]
        ZERO: _ClassVar[EvaluationOptions.NoRelevantPolicy]
        EXCLUDE: _ClassVar[EvaluationOptions.NoRelevantPolicy]
    NO_RELEVANT_POLICY_UNSPECIFIED: EvaluationOptions.NoRelevantPolicy
    ZERO: EvaluationOptions.NoRelevantPolicy
    EXCLUDE: EvaluationOptions.NoRelevantPolicy
    class RejectedPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        REJECTED_POLICY_UNSPECIFIED: _ClassVar[EvaluationOptions.RejectedPolicy]
        FAIL_ON_QUERIES: _ClassVar[EvaluationOptions.RejectedPolicy]
        FAIL_ON_ANY: _ClassVar[EvaluationOptions.RejectedPolicy]
        ALLOW: _ClassVar[EvaluationOptions.RejectedPolicy]
    REJECTED_POLICY_UNSPECIFIED: EvaluationOptions.RejectedPolicy
    FAIL_ON_QUERIES: EvaluationOptions.RejectedPolicy
    FAIL_ON_ANY: EvaluationOptions.RejectedPolicy
    ALLOW: EvaluationOptions.RejectedPolicy
    class DuplicatePolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        DUPLICATE_POLICY_UNSPECIFIED: _ClassVar[EvaluationOptions.DuplicatePolicy]
        KEEP: _ClassVar[EvaluationOptions.DuplicatePolicy]
        MERGE: _ClassVar[EvaluationOptions.DuplicatePolicy]
    DUPLICATE_POLICY_UNSPECIFIED: EvaluationOptions.DuplicatePolicy
    KEEP: EvaluationOptions.DuplicatePolicy
    MERGE: EvaluationOptions.DuplicatePolicy
    METRICS_FIELD_NUMBER: _ClassVar[int]
    CUTOFFS_FIELD_NUMBER: _ClassVar[int]
    JUDGEMENTS_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    NO_RELEVANT_POLICY_FIELD_NUMBER: _ClassVar[int]
    REJECTED_POLICY_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_POLICY_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_NOISE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    metrics: _containers.RepeatedScalarFieldContainer[str]
    cutoffs: _containers.RepeatedScalarFieldContainer[int]
    judgements: _containers.RepeatedScalarFieldContainer[str]
    relevance_threshold: float
    no_relevant_policy: EvaluationOptions.NoRelevantPolicy
    rejected_policy: EvaluationOptions.RejectedPolicy
    duplicate_policy: EvaluationOptions.DuplicatePolicy
    without_noise: bool
    timeout: _duration_pb2.Duration
    def __init__(self, metrics: _Optional[_Iterable[str]] = ..., cutoffs: _Optional[_Iterable[int]] = ..., judgements: _Optional[_Iterable[str]] = ..., relevance_threshold: _Optional[float] = ..., no_relevant_policy: _Optional[_Union[EvaluationOptions.NoRelevantPolicy, str]] = ..., rejected_policy: _Optional[_Union[EvaluationOptions.RejectedPolicy, str]] = ..., duplicate_policy: _Optional[_Union[EvaluationOptions.DuplicatePolicy, str]] = ..., without_noise: _Optional[bool] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("stage", "total", "done", "rejected", "rate", "remaining", "cache_hits", "resumed")
    class Stage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STAGE_UNSPECIFIED: _ClassVar[Progress.Stage]
        WAITING: _ClassVar[Progress.Stage]
        EMBEDDING_QUERIES: _ClassVar[Progress.Stage]
        EMBEDDING_ITEMS: _ClassVar[Progress.Stage]
        RANKING: _ClassVar[Progress.Stage]
        SCORING: _ClassVar[Progress.Stage]
        DONE: _ClassVar[Progress.Stage]
    STAGE_UNSPECIFIED: Progress.Stage
    WAITING: Progress.Stage
    EMBEDDING_QUERIES: Progress.Stage
    EMBEDDING_ITEMS: Progress.Stage
    RANKING: Progress.Stage
    SCORING: Progress.Stage
    DONE: Progress.Stage
    STAGE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    CACHE_HITS_FIELD_NUMBER: _ClassVar[int]
    RESUMED_FIELD_NUMBER: _ClassVar[int]
    stage: Progress.Stage
    total: int
    done: int
    rejected: int
    rate: float
    remaining: _duration_pb2.Duration
    cache_hits: int
    resumed: int
    def __init__(self, stage: _Optional[_Union[Progress.Stage, str]] = ..., total: _Optional[int] = ..., done: _Optional[int] = ..., rejected: _Optional[int] = ..., rate: _Optional[float] = ..., remaining: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., cache_hits: _Optional[int] = ..., resumed: _Optional[int] = ...) -> None: ...

class PinnedVersions(_message.Message):
    __slots__ = ("benchmark_digest", "specification_digest", "models")
    BENCHMARK_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    benchmark_digest: str
    specification_digest: str
    models: _containers.RepeatedCompositeFieldContainer[PinnedModel]
    def __init__(self, benchmark_digest: _Optional[str] = ..., specification_digest: _Optional[str] = ..., models: _Optional[_Iterable[_Union[PinnedModel, _Mapping]]] = ...) -> None: ...

class PinnedModel(_message.Message):
    __slots__ = ("model", "version", "graph_digest")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    GRAPH_DIGEST_FIELD_NUMBER: _ClassVar[int]
    model: str
    version: str
    graph_digest: str
    def __init__(self, model: _Optional[str] = ..., version: _Optional[str] = ..., graph_digest: _Optional[str] = ...) -> None: ...

class MetricValue(_message.Message):
    __slots__ = ("subset", "judgement", "metric", "cutoff", "value", "query_count", "no_relevant_count")
    SUBSET_FIELD_NUMBER: _ClassVar[int]
    JUDGEMENT_FIELD_NUMBER: _ClassVar[int]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    CUTOFF_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    QUERY_COUNT_FIELD_NUMBER: _ClassVar[int]
    NO_RELEVANT_COUNT_FIELD_NUMBER: _ClassVar[int]
    subset: str
    judgement: str
    metric: str
    cutoff: int
    value: float
    query_count: int
    no_relevant_count: int
    def __init__(self, subset: _Optional[str] = ..., judgement: _Optional[str] = ..., metric: _Optional[str] = ..., cutoff: _Optional[int] = ..., value: _Optional[float] = ..., query_count: _Optional[int] = ..., no_relevant_count: _Optional[int] = ...) -> None: ...

class Report(_message.Message):
    __slots__ = ("run", "metrics", "subsets", "notes", "rejected", "rejected_count", "truncated_count", "duplicates", "duplicate_group_count", "headline_judgement")
    RUN_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    SUBSETS_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    REJECTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_COUNT_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_GROUP_COUNT_FIELD_NUMBER: _ClassVar[int]
    HEADLINE_JUDGEMENT_FIELD_NUMBER: _ClassVar[int]
    run: Run
    metrics: _containers.RepeatedCompositeFieldContainer[MetricValue]
    subsets: _containers.RepeatedCompositeFieldContainer[SubsetSummary]
    notes: _containers.RepeatedScalarFieldContainer[str]
    rejected: _containers.RepeatedCompositeFieldContainer[RejectedRow]
    rejected_count: int
    truncated_count: int
    duplicates: _containers.RepeatedCompositeFieldContainer[DuplicateGroup]
    duplicate_group_count: int
    headline_judgement: str
    def __init__(self, run: _Optional[_Union[Run, _Mapping]] = ..., metrics: _Optional[_Iterable[_Union[MetricValue, _Mapping]]] = ..., subsets: _Optional[_Iterable[_Union[SubsetSummary, _Mapping]]] = ..., notes: _Optional[_Iterable[str]] = ..., rejected: _Optional[_Iterable[_Union[RejectedRow, _Mapping]]] = ..., rejected_count: _Optional[int] = ..., truncated_count: _Optional[int] = ..., duplicates: _Optional[_Iterable[_Union[DuplicateGroup, _Mapping]]] = ..., duplicate_group_count: _Optional[int] = ..., headline_judgement: _Optional[str] = ...) -> None: ...

class SubsetSummary(_message.Message):
    __slots__ = ("subset", "query_count", "item_count", "noise_count", "tied_query_count")
    SUBSET_FIELD_NUMBER: _ClassVar[int]
    QUERY_COUNT_FIELD_NUMBER: _ClassVar[int]
    ITEM_COUNT_FIELD_NUMBER: _ClassVar[int]
    NOISE_COUNT_FIELD_NUMBER: _ClassVar[int]
    TIED_QUERY_COUNT_FIELD_NUMBER: _ClassVar[int]
    subset: str
    query_count: int
    item_count: int
    noise_count: int
    tied_query_count: int
    def __init__(self, subset: _Optional[str] = ..., query_count: _Optional[int] = ..., item_count: _Optional[int] = ..., noise_count: _Optional[int] = ..., tied_query_count: _Optional[int] = ...) -> None: ...

class RejectedRow(_message.Message):
    __slots__ = ("collection", "row", "id", "reason", "message")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    collection: str
    row: int
    id: str
    reason: str
    message: str
    def __init__(self, collection: _Optional[str] = ..., row: _Optional[int] = ..., id: _Optional[str] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class DuplicateGroup(_message.Message):
    __slots__ = ("subset", "item_ids", "item_count", "labels_disagree")
    SUBSET_FIELD_NUMBER: _ClassVar[int]
    ITEM_IDS_FIELD_NUMBER: _ClassVar[int]
    ITEM_COUNT_FIELD_NUMBER: _ClassVar[int]
    LABELS_DISAGREE_FIELD_NUMBER: _ClassVar[int]
    subset: str
    item_ids: _containers.RepeatedScalarFieldContainer[str]
    item_count: int
    labels_disagree: bool
    def __init__(self, subset: _Optional[str] = ..., item_ids: _Optional[_Iterable[str]] = ..., item_count: _Optional[int] = ..., labels_disagree: _Optional[bool] = ...) -> None: ...

class QueryResult(_message.Message):
    __slots__ = ("subset", "query_id", "group", "ranking", "metrics", "tie_count")
    SUBSET_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    RANKING_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    TIE_COUNT_FIELD_NUMBER: _ClassVar[int]
    subset: str
    query_id: str
    group: str
    ranking: _containers.RepeatedCompositeFieldContainer[RankedItem]
    metrics: _containers.RepeatedCompositeFieldContainer[MetricValue]
    tie_count: int
    def __init__(self, subset: _Optional[str] = ..., query_id: _Optional[str] = ..., group: _Optional[str] = ..., ranking: _Optional[_Iterable[_Union[RankedItem, _Mapping]]] = ..., metrics: _Optional[_Iterable[_Union[MetricValue, _Mapping]]] = ..., tie_count: _Optional[int] = ...) -> None: ...

class RankedItem(_message.Message):
    __slots__ = ("item_id", "score", "grades")
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    GRADES_FIELD_NUMBER: _ClassVar[int]
    item_id: str
    score: float
    grades: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, item_id: _Optional[str] = ..., score: _Optional[float] = ..., grades: _Optional[_Iterable[float]] = ...) -> None: ...
