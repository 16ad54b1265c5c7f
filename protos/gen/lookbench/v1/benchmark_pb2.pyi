import datetime

from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.api import resource_pb2 as _resource_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Benchmark(_message.Message):
    __slots__ = ("name", "title", "state", "error", "query_modality", "item_modality", "subsets", "judgements", "headline_judgement", "collections", "digest", "format", "source_path", "release_time", "imported_rows", "duplicate_group_count", "rejected_reasons")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[Benchmark.State]
        IMPORTING: _ClassVar[Benchmark.State]
        READY: _ClassVar[Benchmark.State]
        FAILED: _ClassVar[Benchmark.State]
    STATE_UNSPECIFIED: Benchmark.State
    IMPORTING: Benchmark.State
    READY: Benchmark.State
    FAILED: Benchmark.State
    class Modality(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        MODALITY_UNSPECIFIED: _ClassVar[Benchmark.Modality]
        IMAGE: _ClassVar[Benchmark.Modality]
        TEXT: _ClassVar[Benchmark.Modality]
    MODALITY_UNSPECIFIED: Benchmark.Modality
    IMAGE: Benchmark.Modality
    TEXT: Benchmark.Modality
    class Subset(_message.Message):
        __slots__ = ("name", "query_count", "item_count", "noise_count")
        NAME_FIELD_NUMBER: _ClassVar[int]
        QUERY_COUNT_FIELD_NUMBER: _ClassVar[int]
        ITEM_COUNT_FIELD_NUMBER: _ClassVar[int]
        NOISE_COUNT_FIELD_NUMBER: _ClassVar[int]
        name: str
        query_count: int
        item_count: int
        noise_count: int
        def __init__(self, name: _Optional[str] = ..., query_count: _Optional[int] = ..., item_count: _Optional[int] = ..., noise_count: _Optional[int] = ...) -> None: ...
    class Judgement(_message.Message):
        __slots__ = ("name", "description", "graded")
        NAME_FIELD_NUMBER: _ClassVar[int]
        DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
        GRADED_FIELD_NUMBER: _ClassVar[int]
        name: str
        description: str
        graded: bool
        def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., graded: _Optional[bool] = ...) -> None: ...
    class Collection(_message.Message):
        __slots__ = ("name", "rows_in", "rows_out", "rows_rejected")
        NAME_FIELD_NUMBER: _ClassVar[int]
        ROWS_IN_FIELD_NUMBER: _ClassVar[int]
        ROWS_OUT_FIELD_NUMBER: _ClassVar[int]
        ROWS_REJECTED_FIELD_NUMBER: _ClassVar[int]
        name: str
        rows_in: int
        rows_out: int
        rows_rejected: int
        def __init__(self, name: _Optional[str] = ..., rows_in: _Optional[int] = ..., rows_out: _Optional[int] = ..., rows_rejected: _Optional[int] = ...) -> None: ...
    class RejectedReasonsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    QUERY_MODALITY_FIELD_NUMBER: _ClassVar[int]
    ITEM_MODALITY_FIELD_NUMBER: _ClassVar[int]
    SUBSETS_FIELD_NUMBER: _ClassVar[int]
    JUDGEMENTS_FIELD_NUMBER: _ClassVar[int]
    HEADLINE_JUDGEMENT_FIELD_NUMBER: _ClassVar[int]
    COLLECTIONS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_PATH_FIELD_NUMBER: _ClassVar[int]
    RELEASE_TIME_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_ROWS_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_GROUP_COUNT_FIELD_NUMBER: _ClassVar[int]
    REJECTED_REASONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    title: str
    state: Benchmark.State
    error: _status_pb2.Status
    query_modality: Benchmark.Modality
    item_modality: Benchmark.Modality
    subsets: _containers.RepeatedCompositeFieldContainer[Benchmark.Subset]
    judgements: _containers.RepeatedCompositeFieldContainer[Benchmark.Judgement]
    headline_judgement: str
    collections: _containers.RepeatedCompositeFieldContainer[Benchmark.Collection]
    digest: str
    format: str
    source_path: str
    release_time: _timestamp_pb2.Timestamp
    imported_rows: int
    duplicate_group_count: int
    rejected_reasons: _containers.ScalarMap[str, int]
    def __init__(self, name: _Optional[str] = ..., title: _Optional[str] = ..., state: _Optional[_Union[Benchmark.State, str]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., query_modality: _Optional[_Union[Benchmark.Modality, str]] = ..., item_modality: _Optional[_Union[Benchmark.Modality, str]] = ..., subsets: _Optional[_Iterable[_Union[Benchmark.Subset, _Mapping]]] = ..., judgements: _Optional[_Iterable[_Union[Benchmark.Judgement, _Mapping]]] = ..., headline_judgement: _Optional[str] = ..., collections: _Optional[_Iterable[_Union[Benchmark.Collection, _Mapping]]] = ..., digest: _Optional[str] = ..., format: _Optional[str] = ..., source_path: _Optional[str] = ..., release_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., imported_rows: _Optional[int] = ..., duplicate_group_count: _Optional[int] = ..., rejected_reasons: _Optional[_Mapping[str, int]] = ...) -> None: ...
