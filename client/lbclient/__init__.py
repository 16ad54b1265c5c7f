"""Client of LookBench services: evaluate retrieval systems on benchmarks.

    from lbclient import SyncClient

    with SyncClient("127.0.0.1:8090") as client:
        report = client.wait_for_report("runs/nightly")

`Client` is the same for asyncio. Requests and answers are the messages of
`lookbench.v1`; every failure is a `LookbenchClientError`.
"""

from lbclient.channel import RetryPolicy
from lbclient.client import Client
from lbclient.errors import (
    AlreadyExists,
    FetchFailed,
    FieldViolation,
    Forked,
    InvalidRequest,
    LookbenchClientError,
    NoAnswerInTime,
    NotFound,
    NotImplementedYet,
    NotReachable,
    Overloaded,
    Refused,
    RunCancelled,
    RunFailed,
    ServerFailure,
    StackError,
    Unavailable,
)
from lbclient.pages import Pager
from lbclient.sync import SyncClient
from lbclient.watch import WatchPolicy, is_finished, raise_unless_succeeded

__all__ = [
    "AlreadyExists",
    "Client",
    "FetchFailed",
    "FieldViolation",
    "Forked",
    "InvalidRequest",
    "LookbenchClientError",
    "NoAnswerInTime",
    "NotFound",
    "NotImplementedYet",
    "NotReachable",
    "Overloaded",
    "Pager",
    "Refused",
    "RetryPolicy",
    "RunCancelled",
    "RunFailed",
    "ServerFailure",
    "StackError",
    "SyncClient",
    "Unavailable",
    "WatchPolicy",
    "is_finished",
    "raise_unless_succeeded",
]
