"""A folder that appears whole or not at all."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lookbench_evaluator.benchmarks.stored_files import store_errors

_MARK = ".importing-"


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """A new folder beside `target` that takes its name when the block ends without an error.

    After an error nothing is left. Raises StoreUnavailable.
    """
    staging = target.parent / f".{target.name}{_MARK}{uuid.uuid4().hex[:8]}"
    with store_errors(target.parent):
        staging.mkdir(parents=True)
    try:
        yield staging
        with store_errors(target):
            staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def remove_leftovers(parent: Path) -> int:
    """Removes what killed imports left in `parent`; call it before any import. How many."""
    leftovers = list(parent.glob(f".*{_MARK}*"))
    for folder in leftovers:
        shutil.rmtree(folder, ignore_errors=True)
    return len(leftovers)
