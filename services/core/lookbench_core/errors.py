"""The root of every error that a user may see.

    LookbenchError
    ├── lookbench_inference.errors   a served model cannot be asked, or answered wrongly
    ├── lookbench_evaluator.errors   requests, runs, benchmarks, store
    ├── lookbench_exporter.errors    exports that must not be published
    └── lookbench_triton.errors      the embedded server

`code` is the name of a gRPC status, `reason` a value of
`lookbench.v1.ErrorReason`: class attributes, so that a table of all of them can
be made without raising any (docs/errors.md).
"""

from collections.abc import Mapping
from typing import ClassVar

DOMAIN = "lookbench.dev"


class LookbenchError(Exception):
    """An error with a message for people and its variables for programs.

    `metadata` holds every variable that the message mentions.
    """

    code: ClassVar[str] = "INTERNAL"
    reason: ClassVar[str] = "INTERNAL"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, /, **metadata: object) -> None:
        super().__init__(message)
        self.message = message
        self.metadata: Mapping[str, str] = {k: str(v) for k, v in metadata.items()}
