"""Types of command line options, and options that several commands share."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import click

from lbclient.sizes import size_from_text

Command = TypeVar("Command", bound=Callable[..., Any])

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


class _Type(click.ParamType):  # type: ignore[type-arg]  # generic only in later versions
    """Base of the types here."""


class DurationType(_Type):
    """`90`, `90s`, `15m`, `2h` or `1d`, as a timedelta."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Fails on anything else and on zero."""
        if isinstance(value, timedelta):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", value.strip())
        seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
        if seconds <= 0:
            self.fail(f"{value!r} is not a duration such as 90s, 15m or 2h", param, ctx)
        return timedelta(seconds=seconds)


class NameListType(_Type):
    """Names separated by commas, as a tuple."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Fails on an empty name."""
        if isinstance(value, tuple):
            return value
        names = tuple(part.strip() for part in value.split(","))
        if not all(names):
            self.fail(f"{value!r} is not a list such as hit,ndcg_binary", param, ctx)
        return names


class CutoffListType(_Type):
    """Positive whole numbers separated by commas, as a tuple."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Fails on anything that is not a whole number above zero."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(int(part) for part in value.split(","))
        except ValueError:
            numbers = ()
        if not numbers or min(numbers) < 1:
            self.fail(f"{value!r} is not a list such as 1,5,10", param, ctx)
        return numbers


class MetricAtCutoffType(_Type):
    """`METRIC@K`, as a pair."""

    name = "metric@k"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Fails on anything else."""
        if isinstance(value, tuple):
            return value
        metric, _, cutoff = value.rpartition("@")
        if not metric or not cutoff.isdigit() or int(cutoff) < 1:
            self.fail(f"{value!r} is not of the form ndcg_binary@10", param, ctx)
        return metric, int(cutoff)


class AssignmentType(_Type):
    """`key=value`, as a pair."""

    name = "key=value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Fails without a key or without `=`."""
        if isinstance(value, tuple):
            return value
        key, equals, text = value.partition("=")
        if not key or not equals:
            self.fail(f"{value!r} is not of the form key=value", param, ctx)
        return key, text


class SizeType(_Type):
    """`5GiB`, `500MB` or a number of bytes, as bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Fails on anything else."""
        if isinstance(value, int):
            return value
        size = size_from_text(value)
        if size is None:
            self.fail(f"{value!r} is not a size such as 5GiB, 500MB or 0", param, ctx)
        return size


class ServerType(_Type):
    """`HOST:PORT`, `[IPv6]:PORT` or `unix:PATH`."""

    name = "host:port"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Fails without a port between 1 and 65535."""
        text = str(value)
        if text.startswith(("unix:", "dns:")):
            return text
        match = re.fullmatch(r"(?:\[[^\]]+\]|[^:\[\]/]+):(\d{1,5})", text)
        if match is None or not 1 <= int(match[1]) <= 65535:
            self.fail(f"{value!r} is not of the form HOST:PORT, such as 127.0.0.1:8090", param, ctx)
        return text


DURATION = DurationType()
NAMES = NameListType()
CUTOFFS = CutoffListType()
METRIC_AT_CUTOFF = MetricAtCutoffType()
ASSIGNMENT = AssignmentType()
SERVER = ServerType()
SIZE = SizeType()


def json_option(command: Command) -> Command:
    """`--json` for commands that print data; a group's holds for its commands, too."""
    return click.option(
        "as_json",
        "--json",
        is_flag=True,
        callback=_or_of_group,
        help="Print one JSON document instead of tables.",
    )(command)


def _or_of_group(context: click.Context, _parameter: click.Parameter, value: bool) -> bool:
    group = context.parent.params if context.parent else {}
    return value or bool(group.get("as_json"))
