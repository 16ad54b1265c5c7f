"""The model repository, as folders."""

from collections.abc import Sequence
from pathlib import Path

from lookbench_triton.errors import ModelUnknown, RepositoryInvalid

CONFIG_FILE = "config.pbtxt"
ALL = "all"
NONE = "none"


def models_in(repository: Path) -> list[str]:
    """Names of the folders with a config.pbtxt, sorted; hidden folders are not models."""
    if not repository.is_dir():
        raise RepositoryInvalid(
            f"The model repository {repository} does not exist; "
            "export a model into it with lookbench-export, or give another --repository",
            repository=repository,
        )
    found = (path.parent.name for path in repository.glob(f"*/{CONFIG_FILE}"))
    return sorted(name for name in found if not name.startswith("."))


def select(repository: Path, wanted: Sequence[str]) -> list[str]:
    """The models to load: every one for `all`, none for `none`, else those named.

    Raises RepositoryInvalid when `all` finds nothing, ModelUnknown for a name
    without a folder.
    """
    present = models_in(repository)
    if list(wanted) == [NONE]:
        return []
    if ALL in wanted:
        if not present:
            raise RepositoryInvalid(
                f"The model repository {repository} holds no model (no folder with a "
                f"{CONFIG_FILE}); export one with lookbench-export, or start without any: "
                f"--load {NONE}",
                repository=repository,
            )
        return present
    for name in wanted:
        if not (repository / name).is_dir():
            raise ModelUnknown(
                f"There is no model '{name}' in {repository}; it holds: "
                f"{', '.join(present) or 'nothing'}",
                model=name,
                repository=repository,
            )
    return list(dict.fromkeys(wanted))
