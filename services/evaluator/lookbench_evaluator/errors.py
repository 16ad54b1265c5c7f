"""Errors of requests, runs, benchmarks and the store.

Each class states its gRPC status, its reason and whether the same call may be
repeated. `error_interceptor.py` is the only place where they become a status.
"""

from lookbench_core.errors import LookbenchError


class InvalidField(LookbenchError):
    """A field of the request is wrong. `field` is its path in the message."""

    code = "INVALID_ARGUMENT"
    reason = "INVALID_FIELD"

    def __init__(self, field: str, problem: str, /, **metadata: object) -> None:
        super().__init__(f"{field}: {problem}", field=field, problem=problem, **metadata)
        self.field = field
        self.problem = problem


class InvalidPageToken(InvalidField):
    """The token is not ours, or belongs to other arguments."""

    reason = "INVALID_PAGE_TOKEN"

    def __init__(self) -> None:
        super().__init__("page_token", "is not a token of this listing; start again without one")


class RequestIdReused(InvalidField):
    """The same request id came with another body."""

    reason = "REQUEST_ID_REUSED"


class PathOutsideRoot(InvalidField):
    """A path that leaves the configured data roots."""

    reason = "PATH_OUTSIDE_ROOT"


class NotFound(LookbenchError):
    """No resource of that name."""

    code = "NOT_FOUND"
    resource_type = ""
    list_command = ""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} does not exist; {self.list_command} shows those that do", name=name
        )
        self.resource_name = name


class RunNotFound(NotFound):
    """No run of that name."""

    reason = "RUN_NOT_FOUND"
    resource_type = "lookbench.dev/Run"
    list_command = "`lbclient runs list`"


class BenchmarkNotFound(NotFound):
    """No benchmark of that name."""

    reason = "BENCHMARK_NOT_FOUND"
    resource_type = "lookbench.dev/Benchmark"
    list_command = "`lbclient benchmarks list`"


class ModelNotFound(NotFound):
    """No model of that name in Triton's repository."""

    reason = "MODEL_NOT_FOUND"
    resource_type = "lookbench.dev/Model"
    list_command = "`lbclient models`"


class SourceNotFound(LookbenchError):
    """A file or folder to read does not exist."""

    code = "NOT_FOUND"
    reason = "SOURCE_NOT_FOUND"


class AlreadyExists(LookbenchError):
    """The caller's id is taken."""

    code = "ALREADY_EXISTS"
    resource_type = ""

    def __init__(self, name: str, advice: str) -> None:
        super().__init__(f"{name} exists already; {advice}", name=name)
        self.resource_name = name


class RunAlreadyExists(AlreadyExists):
    """The run id is taken by another request."""

    reason = "RUN_ALREADY_EXISTS"
    resource_type = "lookbench.dev/Run"


class BenchmarkAlreadyExists(AlreadyExists):
    """The benchmark id is taken by another source."""

    reason = "BENCHMARK_ALREADY_EXISTS"
    resource_type = "lookbench.dev/Benchmark"


class WrongState(LookbenchError):
    """The resource is in a state that does not allow this."""

    code = "FAILED_PRECONDITION"


class RunNotCancellable(WrongState):
    """The run has ended."""

    reason = "RUN_NOT_CANCELLABLE"


class RunNotResumable(WrongState):
    """The run is neither failed nor cancelled."""

    reason = "RUN_NOT_RESUMABLE"


class RunNotDeletable(WrongState):
    """The run has not ended."""

    reason = "RUN_NOT_DELETABLE"


class RunNotFinished(WrongState):
    """The run has no results."""

    reason = "RUN_NOT_FINISHED"


class PinnedVersionGone(WrongState):
    """The benchmark or a model changed since the run began."""

    reason = "PINNED_VERSION_GONE"


class BenchmarkNotReady(WrongState):
    """The benchmark is being imported, or its import failed."""

    reason = "BENCHMARK_NOT_READY"


class ImportInterrupted(WrongState):
    """The evaluator stopped during an import."""

    reason = "BENCHMARK_NOT_READY"


class BenchmarkInUse(WrongState):
    """An import or an unfinished run needs the benchmark as it is."""

    reason = "BENCHMARK_IN_USE"


class BenchmarkInvalid(LookbenchError):
    """The source or a stored benchmark cannot be read as its format."""

    code = "FAILED_PRECONDITION"
    reason = "BENCHMARK_INVALID"


class RowsRejected(LookbenchError):
    """Rows were rejected and the run's policy does not allow it."""

    code = "FAILED_PRECONDITION"
    reason = "ROWS_REJECTED"


class QueueFull(LookbenchError):
    """Too many runs wait."""

    code = "RESOURCE_EXHAUSTED"
    reason = "QUEUE_FULL"
    retryable = True


class RunDeadline(LookbenchError):
    """The run took longer than it may."""

    code = "DEADLINE_EXCEEDED"
    reason = "DEADLINE_EXCEEDED"


class StoreUnavailable(LookbenchError):
    """The store cannot be read or written."""

    code = "UNAVAILABLE"
    reason = "STORE_UNAVAILABLE"
    retryable = True


class StoreCorrupted(LookbenchError):
    """The store is damaged: what it holds cannot be trusted, and repeating does not help."""

    code = "DATA_LOSS"
    reason = "STORE_CORRUPTED"


class ShuttingDown(LookbenchError):
    """The evaluator is stopping; what it was doing goes on after its next start."""

    code = "UNAVAILABLE"
    reason = "SHUTTING_DOWN"
    retryable = True


class PortInUse(LookbenchError):
    """The address to listen on is taken."""

    code = "FAILED_PRECONDITION"
    reason = "PORT_IN_USE"


class NotImplementedYet(LookbenchError):
    """The contract has it, this version has not."""

    code = "UNIMPLEMENTED"
    reason = "NOT_IMPLEMENTED_YET"
