"""Our regions in /dev/shm: named after their owner, removed with it."""

import contextlib
import os
import re
from pathlib import Path

from lookbench_triton.processes import process_state

FOLDER = Path("/dev/shm")  # noqa: S108 - where the kernel keeps POSIX shared memory
OWNED = re.compile(r"lookbench_(?P<namespace>\d+)_(?P<pid>\d+)_(?P<started>\d+)_")


def own_prefix() -> str:
    """Prefix of this process' regions: pid namespace, pid and start time, so that it is unique."""
    state = process_state(os.getpid())
    started = state.started if state else 0
    return f"lookbench_{_pid_namespace()}_{os.getpid()}_{started}_"


def remove_regions(prefix: str, folder: Path = FOLDER) -> int:
    """Removes the regions of one prefix; how many there were."""
    return _remove([path for path in folder.glob(f"{prefix}*") if path.is_file()])


def remove_abandoned(folder: Path = FOLDER) -> int:
    """Removes regions whose owner is gone: a supervisor and its server that were both killed.

    Regions of other pid namespaces (containers that share /dev/shm) are left alone.
    """
    return _remove([path for path in folder.glob("lookbench_*") if _is_abandoned(path.name)])


def _remove(paths: list[Path]) -> int:
    for path in paths:
        with contextlib.suppress(OSError):  # gone, or another user's
            path.unlink()
    return len(paths)


def _is_abandoned(name: str) -> bool:
    match = OWNED.match(name)
    if not match or match["namespace"] != _pid_namespace():
        return False
    owner = process_state(int(match["pid"]))
    return owner is None or owner.started != int(match["started"])


def _pid_namespace() -> str:
    """Inode of the pid namespace, as digits."""
    return re.sub(r"\D", "", str(Path("/proc/self/ns/pid").readlink()))
