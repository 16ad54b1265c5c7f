"""Errors of asking a served model."""

from lookbench_core.errors import LookbenchError


class TritonUnavailable(LookbenchError):
    """The server does not answer."""

    code = "UNAVAILABLE"
    reason = "TRITON_UNAVAILABLE"
    retryable = True


class TritonBusy(TritonUnavailable):
    """The server answers, and takes no more requests now: its queue is full."""


class ModelNotReady(LookbenchError):
    """The server answers, but not for this model."""

    code = "UNAVAILABLE"
    reason = "MODEL_NOT_READY"
    retryable = True


class ModelContractMismatch(LookbenchError):
    """Manifest and served model disagree, or a request does not fit the model."""

    code = "FAILED_PRECONDITION"
    reason = "MODEL_CONTRACT_MISMATCH"


class ModelOutputInvalid(LookbenchError):
    """The model answered a wrong shape, a non-finite value, a zero vector or mixed-up rows."""

    code = "FAILED_PRECONDITION"
    reason = "MODEL_OUTPUT_INVALID"


class InferenceDeadline(LookbenchError):
    """The deadline passed before the model answered."""

    code = "DEADLINE_EXCEEDED"
    reason = "DEADLINE_EXCEEDED"


class InferenceFailed(LookbenchError):
    """The server reported an error while running the model."""

    code = "INTERNAL"
    reason = "INFERENCE_FAILED"


class ModelProcessDead(InferenceFailed):
    """The process that runs the model is gone; a restart of the server mends it."""


class SharedMemoryUnavailable(LookbenchError):
    """Shared memory was asked for, and cannot be used with a server."""

    code = "FAILED_PRECONDITION"
    reason = "SHARED_MEMORY_UNAVAILABLE"


class CacheUnavailable(LookbenchError):
    """The embedding cache cannot be looked at or pruned; runs go on without it."""

    code = "UNAVAILABLE"
    reason = "STORE_UNAVAILABLE"
    retryable = True


class ItemUnreadable(LookbenchError):
    """One image or text that cannot be used. `reason` of the row is `row_reason`."""

    code = "INVALID_ARGUMENT"
    reason = "ROWS_REJECTED"

    def __init__(self, row_reason: str, message: str) -> None:
        super().__init__(message, row_reason=row_reason)
        self.row_reason = row_reason
