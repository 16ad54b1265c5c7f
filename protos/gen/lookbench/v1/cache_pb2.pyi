import datetime

from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.api import resource_pb2 as _resource_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Cache(_message.Message):
    __slots__ = ("name", "path", "limit_bytes", "size_bytes", "entry_count", "spaces", "space_count")
    class Space(_message.Message):
        __slots__ = ("model", "role", "prompt", "preset", "dimension", "precision", "graph_digest", "adapter_digest", "digest", "entry_count", "size_bytes", "create_time", "last_use_time")
        MODEL_FIELD_NUMBER: _ClassVar[int]
        ROLE_FIELD_NUMBER: _ClassVar[int]
        PROMPT_FIELD_NUMBER: _ClassVar[int]
        PRESET_FIELD_NUMBER: _ClassVar[int]
        DIMENSION_FIELD_NUMBER: _ClassVar[int]
        PRECISION_FIELD_NUMBER: _ClassVar[int]
        GRAPH_DIGEST_FIELD_NUMBER: _ClassVar[int]
        ADAPTER_DIGEST_FIELD_NUMBER: _ClassVar[int]
        DIGEST_FIELD_NUMBER: _ClassVar[int]
        ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
        SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
        CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
        LAST_USE_TIME_FIELD_NUMBER: _ClassVar[int]
        model: str
        role: str
        prompt: str
        preset: str
        dimension: int
        precision: str
        graph_digest: str
        adapter_digest: str
        digest: str
        entry_count: int
        size_bytes: int
        create_time: _timestamp_pb2.Timestamp
        last_use_time: _timestamp_pb2.Timestamp
        def __init__(self, model: _Optional[str] = ..., role: _Optional[str] = ..., prompt: _Optional[str] = ..., preset: _Optional[str] = ..., dimension: _Optional[int] = ..., precision: _Optional[str] = ..., graph_digest: _Optional[str] = ..., adapter_digest: _Optional[str] = ..., digest: _Optional[str] = ..., entry_count: _Optional[int] = ..., size_bytes: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_use_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    LIMIT_BYTES_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_COUNT_FIELD_NUMBER: _ClassVar[int]
    name: str
    path: str
    limit_bytes: int
    size_bytes: int
    entry_count: int
    spaces: _containers.RepeatedCompositeFieldContainer[Cache.Space]
    space_count: int
    def __init__(self, name: _Optional[str] = ..., path: _Optional[str] = ..., limit_bytes: _Optional[int] = ..., size_bytes: _Optional[int] = ..., entry_count: _Optional[int] = ..., spaces: _Optional[_Iterable[_Union[Cache.Space, _Mapping]]] = ..., space_count: _Optional[int] = ...) -> None: ...
