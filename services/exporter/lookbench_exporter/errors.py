"""Why an export ended without a published model."""

from lookbench_core.errors import LookbenchError


class ExportRefused(LookbenchError):
    """A check found that the model must not be published; nothing was written."""

    code = "FAILED_PRECONDITION"
    reason = "EXPORT_REFUSED"

    def __init__(self, check: str, message: str, /, **metadata: object) -> None:
        super().__init__(f"{check}: {message}", check=check, **metadata)
        self.check = check


class SourceNotFound(LookbenchError):
    """No weights where the source says they are."""

    code = "NOT_FOUND"
    reason = "SOURCE_NOT_FOUND"


class SourceUnreachable(LookbenchError):
    """The model hub does not answer, and nothing is cached."""

    code = "UNAVAILABLE"
    reason = "SOURCE_UNREACHABLE"
    retryable = True


class SourceInvalid(LookbenchError):
    """The source was found, and is not what the family can read."""

    code = "INVALID_ARGUMENT"
    reason = "SOURCE_INVALID"


class ModelExists(LookbenchError):
    """The name is taken by a model of other origin."""

    code = "ALREADY_EXISTS"
    reason = "MODEL_ALREADY_EXISTS"


class RepositoryUnwritable(LookbenchError):
    """The model repository cannot be written: rights, space, or not a folder."""

    code = "FAILED_PRECONDITION"
    reason = "REPOSITORY_UNWRITABLE"


class DependencyMissing(LookbenchError):
    """A library that exporting needs is not installed."""

    code = "FAILED_PRECONDITION"
    reason = "DEPENDENCY_MISSING"


class FamilyUnusable(LookbenchError):
    """An entry point of `lookbench.families` that does not give a family."""

    code = "FAILED_PRECONDITION"
    reason = "FAMILY_UNUSABLE"
