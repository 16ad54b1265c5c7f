"""Where models go: the one reader of the exporter's environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Defaults of the command line.

    home: LOOKBENCH_HOME, `.lookbench` in the current folder by default.
    repository: LOOKBENCH_MODEL_REPOSITORY, `<home>/models` by default.
    """

    home: Path
    repository: Path

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "Settings":
        """Empty variables count as absent."""
        home = Path(environ.get("LOOKBENCH_HOME") or ".lookbench")
        return cls(home, Path(environ.get("LOOKBENCH_MODEL_REPOSITORY") or home / "models"))
