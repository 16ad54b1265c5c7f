"""The reference of the command line in Markdown: `python -m lbclient.reference > docs/cli.md`."""

import inspect
from collections.abc import Iterator

import click

from lbclient.cli import cli

_HEAD = """\
# Command line

Generated from the commands themselves by `python -m lbclient.reference > docs/cli.md`; a
test holds it to the code. `lbclient COMMAND --help` shows the same.
"""
_WIDTH = 96


def reference() -> str:
    """The whole page."""
    sections = [_section(path, command) for path, command in _walk("lbclient", cli)]
    return "\n".join([_HEAD, *sections])


def _walk(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from _walk(f"{path} {name}", command.commands[name])


def _section(path: str, command: click.Command) -> str:
    depth = "#" * (1 + len(path.split()))
    context = click.Context(
        command,
        info_name=path,
        terminal_width=_WIDTH,
        max_content_width=_WIDTH,
        help_option_names=["-h", "--help"],
        color=False,
    )
    help_text = inspect.cleandoc(command.get_help(context))
    lines = "\n".join(line.rstrip() for line in help_text.splitlines())
    return f"{depth} `{path}`\n\n```text\n{lines}\n```\n"


if __name__ == "__main__":
    click.echo(reference(), nl=False)
