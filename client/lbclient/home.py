"""The folder that holds everything of a local stack: LOOKBENCH_HOME."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "LOOKBENCH_HOME"
SYSTEM_DATA = Path("/usr/share/datasets")


@dataclass(frozen=True)
class Home:
    """Paths below LOOKBENCH_HOME. `root` is absolute."""

    root: Path

    @property
    def logs(self) -> Path:
        """Logs of the local stack."""
        return self.root / "logs"

    @property
    def data(self) -> Path:
        """The first data root of a local evaluator."""
        return self.root / "data"

    @property
    def models(self) -> Path:
        """The model repository that lookbench-export writes to."""
        return self.root / "models"

    @property
    def evaluator(self) -> Path:
        """The store of a local evaluator."""
        return self.root / "evaluator"

    @property
    def triton(self) -> Path:
        """Where the embedded Triton is installed."""
        return self.root / "triton"

    @property
    def stack_file(self) -> Path:
        """The record of the local stack."""
        return self.root / "stack.json"


def find_home(environment: Mapping[str, str] = os.environ) -> Home:
    """LOOKBENCH_HOME, or `.lookbench` in the current folder."""
    return Home(Path(environment.get(VARIABLE) or ".lookbench").expanduser().absolute())


def named_repository(environment: Mapping[str, str] = os.environ) -> Path | None:
    """What LOOKBENCH_MODEL_REPOSITORY names; None when it is not set."""
    named = environment.get("LOOKBENCH_MODEL_REPOSITORY")
    return Path(named).absolute() if named else None


def model_repository(home: Home, environment: Mapping[str, str] = os.environ) -> Path:
    """LOOKBENCH_MODEL_REPOSITORY, or `models` in the home."""
    return named_repository(environment) or home.models.absolute()


def exported_models(repository: Path) -> list[str]:
    """Names of the model folders with a `config.pbtxt`, sorted."""
    return sorted(path.parent.name for path in repository.glob("*/config.pbtxt"))
