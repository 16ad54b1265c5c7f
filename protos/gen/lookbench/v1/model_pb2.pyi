from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.api import resource_pb2 as _resource_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Model(_message.Message):
    __slots__ = ("name", "kind", "family", "ready", "problem", "versions", "dimension", "precision", "max_batch_size", "source", "licence", "graph_digest", "presets", "default_preset", "roles", "training_cutoff", "parity_worst_cosine")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[Model.Kind]
        IMAGE_EMBEDDING: _ClassVar[Model.Kind]
        TEXT_EMBEDDING: _ClassVar[Model.Kind]
        RERANKER: _ClassVar[Model.Kind]
    KIND_UNSPECIFIED: Model.Kind
    IMAGE_EMBEDDING: Model.Kind
    TEXT_EMBEDDING: Model.Kind
    RERANKER: Model.Kind
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    LICENCE_FIELD_NUMBER: _ClassVar[int]
    GRAPH_DIGEST_FIELD_NUMBER: _ClassVar[int]
    PRESETS_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_PRESET_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    TRAINING_CUTOFF_FIELD_NUMBER: _ClassVar[int]
    PARITY_WORST_COSINE_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: Model.Kind
    family: str
    ready: bool
    problem: str
    versions: _containers.RepeatedScalarFieldContainer[str]
    dimension: int
    precision: str
    max_batch_size: int
    source: str
    licence: str
    graph_digest: str
    presets: _containers.RepeatedScalarFieldContainer[str]
    default_preset: str
    roles: _containers.RepeatedScalarFieldContainer[str]
    training_cutoff: str
    parity_worst_cosine: float
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[_Union[Model.Kind, str]] = ..., family: _Optional[str] = ..., ready: _Optional[bool] = ..., problem: _Optional[str] = ..., versions: _Optional[_Iterable[str]] = ..., dimension: _Optional[int] = ..., precision: _Optional[str] = ..., max_batch_size: _Optional[int] = ..., source: _Optional[str] = ..., licence: _Optional[str] = ..., graph_digest: _Optional[str] = ..., presets: _Optional[_Iterable[str]] = ..., default_preset: _Optional[str] = ..., roles: _Optional[_Iterable[str]] = ..., training_cutoff: _Optional[str] = ..., parity_worst_cosine: _Optional[float] = ...) -> None: ...
