"""`lookbench-export`, also as `python -m lookbench_exporter`."""

import os
import signal
import sys

import click

from lookbench_exporter.cli import cli

TRACEBACK = "LOOKBENCH_EXPORTER_TRACEBACK"


def main() -> None:
    """Runs the command line. SIGTERM ends it like Ctrl-C, so that nothing half-written stays."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        cli(prog_name="lookbench-export")
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        click.echo(
            f"Error: unexpected {type(error).__name__}: {error}\n"
            f"Nothing was published. Set {TRACEBACK}=1 to see where it happened.",
            err=True,
        )
        sys.exit(1)


if __name__ == "__main__":
    main()
