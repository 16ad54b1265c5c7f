"""`lookbench-evaluator`: starts the evaluator."""

import asyncio
import os
import sys

from pydantic import ValidationError
from pydantic_settings import CliApp

from lookbench_core.errors import LookbenchError
from lookbench_core.logs import configure_logging
from lookbench_evaluator.app import serve
from lookbench_evaluator.settings import Settings

FAILED, USAGE = 1, 2


def main() -> None:
    """Exit codes: 0 stopped as asked, 1 could not serve, 2 wrong settings."""
    try:
        settings = CliApp.run(Settings)
    except ValidationError as error:
        for problem in error.errors():
            name = ".".join(str(part) for part in problem["loc"]) or "settings"
            print(f"lookbench-evaluator: {name}: {problem['msg']}", file=sys.stderr)  # noqa: T201
        sys.exit(USAGE)
    configure_logging(settings.log_level, settings.log_style)
    try:
        asyncio.run(serve(settings))
    except LookbenchError as error:
        print(f"lookbench-evaluator: {error.message}", file=sys.stderr)  # noqa: T201
        sys.exit(FAILED)
    finally:
        _let_go_of_output()


def _let_go_of_output() -> None:
    """Log lines that a full disk does not take must not change the exit code."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
