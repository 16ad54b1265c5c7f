"""The files of runs: vectors that a run has embedded and still needs."""

import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from lookbench_evaluator.errors import StoreUnavailable


@dataclass(frozen=True)
class RunFiles:
    """A folder for each run that has not succeeded, below `root`."""

    root: Path

    def folder(self, run_id: str) -> Path:
        """The run's folder, made if need be. Raises StoreUnavailable."""
        folder = self.root / run_id
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(
                f"cannot make {folder}: {error.strerror}; free space there or correct its "
                "permissions, then resume the run",
                path=folder,
            ) from error
        return folder

    def remove(self, run_id: str) -> None:
        """Frees what the run kept; harmless when there is nothing."""
        shutil.rmtree(self.root / run_id, ignore_errors=True)

    def remove_others(self, kept: Collection[str]) -> None:
        """Frees the files of all runs but `kept`: of those that ended while nobody looked."""
        for folder in self.root.glob("*/"):
            if folder.name not in kept:
                self.remove(folder.name)
