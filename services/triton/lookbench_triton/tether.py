"""Runs a program that dies with its parent.

    python tether.py PARENT_PID PROGRAM ARGUMENTS…

Started as a file of its own and without any package, so that nothing runs between
fork and exec in the supervisor, which has threads. The kernel keeps the wish across
exec. SIGTERM, not SIGKILL: the server then ends its own children and shared memory.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Ties this process to its parent and becomes the program."""
    parent, program = int(arguments[0]), arguments[1:]
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it died before the wish was known
        sys.exit(1)
    os.execv(program[0], program)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
