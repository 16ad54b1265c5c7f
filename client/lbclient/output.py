"""Where the command line writes: data to stdout, everything about it to stderr."""

import json
import os
from collections.abc import Iterable
from typing import Any

import click
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.rpc import error_details_pb2  # noqa: F401 - lets JSON show the details of errors
from rich.console import Console, RenderableType
from rich.text import Text


def console(*, stderr: bool = False) -> Console:
    """A console that shows text as it is: nothing in it is markup.

    Colours appear on a terminal only. With NO_COLOR set there are no codes at all,
    neither bold nor dim.
    """
    plain = bool(os.environ.get("NO_COLOR"))
    return Console(
        stderr=stderr,
        markup=False,
        highlight=False,
        emoji=False,
        color_system=None if plain else "auto",
    )


def show(*parts: RenderableType) -> None:
    """Prints tables to stdout, folded to the terminal's width, and lines as they are."""
    target = console()
    for part in parts:
        target.print(part, soft_wrap=isinstance(part, str | Text))


def printable(text: str, *, keep: str = "") -> str:
    """Text whose control characters, other than those in `keep`, are spelt out.

    Ids come from data files: they must not move the cursor or colour the screen.
    """
    return "".join(
        sign if sign.isprintable() or sign in keep else sign.encode("unicode_escape").decode()
        for sign in text
    )


def say(text: str) -> None:
    """Prints a line about what happens to stderr."""
    click.echo(printable(text, keep="\n"), err=True)


def complain(text: str) -> None:
    """Prints an error to stderr."""
    mark = "Error: "
    text = printable(text, keep="\n")
    click.echo(
        (mark if os.environ.get("NO_COLOR") else click.style(mark, fg="red")) + text, err=True
    )


def to_dict(message: Message) -> dict[str, Any]:
    """A message as proto JSON with the field names of the .proto files.

    Fields without presence are always there. 64-bit integers are strings, as
    proto JSON has it.
    """
    return MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def print_json(data: Message | dict[str, Any] | list[Any]) -> None:
    """Prints one JSON document to stdout."""
    plain = to_dict(data) if isinstance(data, Message) else data
    click.echo(json.dumps(plain, indent=2, ensure_ascii=False))


def print_json_list(field: str, messages: Iterable[Message]) -> None:
    """Prints a listing as one document with the single field `field`."""
    print_json({field: [to_dict(message) for message in messages]})
