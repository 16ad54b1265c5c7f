"""The public names of the package."""

import subprocess
import sys

import lbclient

PUBLIC = [
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


def test_public_names_are_these_and_each_exists():
    assert lbclient.__all__ == PUBLIC
    assert all(hasattr(lbclient, name) for name in PUBLIC)


def test_command_line_imports_nothing_beyond_the_base_install():
    """What belongs to an extra must not be needed. (grpc itself looks for grpc_health.)"""
    heavy = "numpy pydantic structlog pyarrow PIL torch tritonclient scipy onnxruntime"
    code = f"import sys, lbclient.cli; print([m for m in '{heavy}'.split() if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
