"""Request ids: the server makes one run of all requests with the same id and body."""

import hashlib
import uuid

from lookbench.v1.run_pb2 import Run


def repeatable(run: Run, run_id: str) -> str:
    """A UUID4 that is the same whenever the same run is asked for under the same id.

    A command that was killed can so be repeated: it gets the run that it made, and a
    run of another specification stays RUN_ALREADY_EXISTS.
    """
    asked = run.SerializeToString(deterministic=True)
    digest = hashlib.sha256(run_id.encode() + b"\0" + asked).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))
