from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_REASON_UNSPECIFIED: _ClassVar[ErrorReason]
    INVALID_FIELD: _ClassVar[ErrorReason]
    INVALID_PAGE_TOKEN: _ClassVar[ErrorReason]
    REQUEST_ID_REUSED: _ClassVar[ErrorReason]
    RUN_NOT_FOUND: _ClassVar[ErrorReason]
    BENCHMARK_NOT_FOUND: _ClassVar[ErrorReason]
    MODEL_NOT_FOUND: _ClassVar[ErrorReason]
    RUN_ALREADY_EXISTS: _ClassVar[ErrorReason]
    RUN_NOT_CANCELLABLE: _ClassVar[ErrorReason]
    RUN_NOT_RESUMABLE: _ClassVar[ErrorReason]
    RUN_NOT_FINISHED: _ClassVar[ErrorReason]
    RUN_NOT_DELETABLE: _ClassVar[ErrorReason]
    BENCHMARK_NOT_READY: _ClassVar[ErrorReason]
    BENCHMARK_INVALID: _ClassVar[ErrorReason]
    ROWS_REJECTED: _ClassVar[ErrorReason]
    MODEL_CONTRACT_MISMATCH: _ClassVar[ErrorReason]
    MODEL_OUTPUT_INVALID: _ClassVar[ErrorReason]
    MODEL_NOT_READY: _ClassVar[ErrorReason]
    TRITON_UNAVAILABLE: _ClassVar[ErrorReason]
    STORE_UNAVAILABLE: _ClassVar[ErrorReason]
    QUEUE_FULL: _ClassVar[ErrorReason]
    DEADLINE_EXCEEDED: _ClassVar[ErrorReason]
    PINNED_VERSION_GONE: _ClassVar[ErrorReason]
    PATH_OUTSIDE_ROOT: _ClassVar[ErrorReason]
    SOURCE_NOT_FOUND: _ClassVar[ErrorReason]
    NOT_IMPLEMENTED_YET: _ClassVar[ErrorReason]
    MESSAGE_TOO_LARGE: _ClassVar[ErrorReason]
    INTERNAL: _ClassVar[ErrorReason]
    INFERENCE_FAILED: _ClassVar[ErrorReason]
    BENCHMARK_ALREADY_EXISTS: _ClassVar[ErrorReason]
ERROR_REASON_UNSPECIFIED: ErrorReason
INVALID_FIELD: ErrorReason
INVALID_PAGE_TOKEN: ErrorReason
REQUEST_ID_REUSED: ErrorReason
RUN_NOT_FOUND: ErrorReason
BENCHMARK_NOT_FOUND: ErrorReason
MODEL_NOT_FOUND: ErrorReason
RUN_ALREADY_EXISTS: ErrorReason
RUN_NOT_CANCELLABLE: ErrorReason
RUN_NOT_RESUMABLE: ErrorReason
RUN_NOT_FINISHED: ErrorReason
RUN_NOT_DELETABLE: ErrorReason
BENCHMARK_NOT_READY: ErrorReason
BENCHMARK_INVALID: ErrorReason
ROWS_REJECTED: ErrorReason
MODEL_CONTRACT_MISMATCH: ErrorReason
MODEL_OUTPUT_INVALID: ErrorReason
MODEL_NOT_READY: ErrorReason
TRITON_UNAVAILABLE: ErrorReason
STORE_UNAVAILABLE: ErrorReason
QUEUE_FULL: ErrorReason
DEADLINE_EXCEEDED: ErrorReason
PINNED_VERSION_GONE: ErrorReason
PATH_OUTSIDE_ROOT: ErrorReason
SOURCE_NOT_FOUND: ErrorReason
NOT_IMPLEMENTED_YET: ErrorReason
MESSAGE_TOO_LARGE: ErrorReason
INTERNAL: ErrorReason
INFERENCE_FAILED: ErrorReason
BENCHMARK_ALREADY_EXISTS: ErrorReason
