"""`lbclient completion`."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
@click.pass_context
def completion(context: click.Context, shell: str | None) -> None:
    """Print a shell's completion script.

    The shell is the one in $SHELL when none is named.

    \b
    Examples:
      lbclient completion bash > ~/.local/share/bash-completion/completions/lbclient
      lbclient completion zsh  > ~/.zfunc/_lbclient
      lbclient completion fish > ~/.config/fish/completions/lbclient.fish
    """  # noqa: D301 - click's mark
    chosen = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(chosen)
    if kind is None or chosen not in _SHELLS:
        raise click.UsageError(f"name the shell: {', '.join(_SHELLS)}")
    root = context.find_root()
    click.echo(kind(root.command, {}, "lbclient", "_LBCLIENT_COMPLETE").source())
