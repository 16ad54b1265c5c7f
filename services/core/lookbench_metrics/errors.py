"""Errors of judgements and metrics."""

from lookbench_core.errors import LookbenchError


class InvalidGrades(LookbenchError):
    """Grades that no metric may use: negative, not finite, or at odds with each other."""

    code = "FAILED_PRECONDITION"
    reason = "BENCHMARK_INVALID"


class ConflictingGrades(LookbenchError):
    """One query and item were given two different grades."""

    code = "FAILED_PRECONDITION"
    reason = "BENCHMARK_INVALID"


class UnknownMetric(LookbenchError):
    """No metric of that name, or a name that means several."""

    code = "INVALID_ARGUMENT"
    reason = "INVALID_FIELD"


class InvalidCutoff(LookbenchError):
    """A cutoff below 1, or deeper than the rankings that were judged."""

    code = "INVALID_ARGUMENT"
    reason = "INVALID_FIELD"


class InvalidAverage(LookbenchError):
    """A mean was asked for by an unknown policy or weighting."""

    code = "INVALID_ARGUMENT"
    reason = "INVALID_FIELD"
