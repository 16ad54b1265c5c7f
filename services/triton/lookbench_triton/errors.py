"""What can go wrong with the embedded server.

LookbenchError
└── TritonError
    ├── MachineUnsupported   processor, C library or Python without a server
    ├── InstallFailed        fetching or assembling the server
    ├── NotInstalled         nothing, or something damaged, in the install folder
    ├── InvalidSetting       a flag or variable that cannot be used
    ├── PortInUse            another process listens there
    ├── RepositoryInvalid    no such folder, or no model in it
    ├── ModelUnknown         a model that the repository lacks
    ├── ModelLoadFailed      Triton refused to load or unload a model
    ├── ServerUnreachable    nothing answers at the address
    └── ServerFailed         the server died, or never became ready
"""

from lookbench_core.errors import LookbenchError


class TritonError(LookbenchError):
    """Root of this package's errors."""


class MachineUnsupported(TritonError):
    """The published server does not run on this machine."""

    code = "FAILED_PRECONDITION"
    reason = "TRITON_UNAVAILABLE"


class InstallFailed(TritonError):
    """The server could not be fetched or assembled; what was there before is untouched."""

    code = "UNAVAILABLE"
    reason = "TRITON_UNAVAILABLE"
    retryable = True


class NotInstalled(TritonError):
    """The install folder is missing, incomplete or damaged."""

    code = "FAILED_PRECONDITION"
    reason = "TRITON_UNAVAILABLE"


class InvalidSetting(TritonError):
    """A flag or an environment variable has a value that cannot be used."""

    code = "INVALID_ARGUMENT"
    reason = "INVALID_FIELD"


class PortInUse(TritonError):
    """Another process listens on a port that the server needs."""

    code = "FAILED_PRECONDITION"
    reason = "PORT_IN_USE"


class RepositoryInvalid(TritonError):
    """The model repository does not exist or holds no model."""

    code = "FAILED_PRECONDITION"
    reason = "MODEL_NOT_FOUND"


class ModelUnknown(TritonError):
    """A named model does not stand in the repository."""

    code = "NOT_FOUND"
    reason = "MODEL_NOT_FOUND"


class ModelLoadFailed(TritonError):
    """Triton refused to load or to unload a model."""

    code = "FAILED_PRECONDITION"
    reason = "MODEL_NOT_READY"


class ServerUnreachable(TritonError):
    """Nothing answers, or what answers is not Triton."""

    code = "UNAVAILABLE"
    reason = "TRITON_UNAVAILABLE"
    retryable = True


class ServerFailed(TritonError):
    """The server process died or did not become ready."""

    code = "UNAVAILABLE"
    reason = "TRITON_UNAVAILABLE"
