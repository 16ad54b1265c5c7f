"""What this machine lacks for a local stack, and the command that fixes each."""

import ctypes.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from lbclient import extras, fashion_mnist
from lbclient.errors import LookbenchClientError
from lbclient.home import Home, exported_models
from lbclient.stack.ports import FLAGS, Ports, is_free
from lbclient.stack.record import read_stack

Status = Literal["ok", "warning", "missing"]

OLDEST_PYTHON = (3, 11)
# The embedded Triton has stubs for these; the one for 3.13 brings its own libpython.
STUB_PYTHONS = ((3, 11), (3, 12), (3, 13))
NEEDED_DISK = 2 << 30
NEEDED_SHARED_MEMORY = 64 << 20


@dataclass(frozen=True)
class Finding:
    """Outcome of one check. `fix` is a command or a sentence, empty when all is well.

    A warning does not keep the local stack from running.
    """

    name: str
    status: Status
    detail: str
    fix: str = ""


@dataclass(frozen=True)
class Place:
    """What is examined."""

    home: Home
    repository: Path
    python: str = sys.executable

    @property
    def triton(self) -> Path:
        """Where the embedded Triton is expected."""
        return Path(os.environ.get("LOOKBENCH_TRITON_INSTALL_DIR") or self.home.triton)


def examine(place: Place) -> list[Finding]:
    """Every finding, in the order in which things should be fixed."""
    return [finding for check in _CHECKS for finding in check(place)]


def is_fit(findings: list[Finding]) -> bool:
    """Whether nothing needed is missing."""
    return all(finding.status != "missing" for finding in findings)


def to_dict(finding: Finding) -> dict[str, str]:
    """A finding for JSON."""
    return asdict(finding)


def to_do(findings: list[Finding]) -> list[str]:
    """Each fix once, with the names of what it fixes, in the order of the findings.

    Fixes are the same when their commands are; a note may follow a command in parentheses.
    """
    names: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for finding in findings:
        if finding.fix:
            command = finding.fix.partition("   (")[0]
            names.setdefault(command, []).append(finding.name)
            texts.setdefault(command, finding.fix)
    return [f"{texts[command]}   # {', '.join(names[command])}" for command in names]


def _python(place: Place) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        yield Finding("python", "missing", version, "install Python 3.11 or newer")
    elif sys.version_info[:2] not in STUB_PYTHONS:
        yield Finding(
            "python",
            "warning",
            f"{version}; the embedded Triton runs with 3.11 to 3.13",
            "make the environment with python3.11, python3.12 or python3.13",
        )
    else:
        yield Finding("python", "ok", f"{version} ({sys.executable})")


def _extras(place: Place) -> Iterator[Finding]:
    needed: dict[str, Status] = {
        "evaluator": "missing",
        "triton": "missing",
        "exporter": "warning",
    }
    missing = {extra: extras.missing(extra) for extra in needed}
    lacking = [extra for extra in needed if missing[extra]]
    # One command for all of them, so that it is advised once.
    fix = f"{extras.install_command(*lacking)}   (in a clone of the repository; or: make setup)"
    for extra, severity in needed.items():
        if missing[extra]:
            detail = "not installed: " + ", ".join(missing[extra])
            yield Finding(f"packages of {extra}", severity, detail, fix)
        else:
            yield Finding(f"packages of {extra}", "ok", "installed")


def _libpython(place: Place) -> Iterator[Finding]:
    version = sys.version_info[:2]
    if version not in STUB_PYTHONS[:-1]:
        return
    name = f"libpython{version[0]}.{version[1]}"
    found = _find_library(name, place.triton)
    if found:
        yield Finding("libpython", "ok", found)
    else:
        yield Finding(
            "libpython",
            "missing",
            f"{name}.so.1.0 was not found; Triton's Python backend needs it",
            f"lookbench-triton install   (or, as root: apt-get install {name})",
        )


def _find_library(name: str, triton: Path) -> str | None:
    folders = (
        sysconfig.get_config_var("LIBDIR"),
        f"{sys.base_prefix}/lib",
        f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}",
        str(triton / "libpython"),
    )
    paths = [Path(folder) / f"{name}.so.1.0" for folder in folders if folder]
    found = next((str(path) for path in paths if path.is_file()), None)
    return found or ctypes.util.find_library(name.removeprefix("lib"))


def _triton(place: Place) -> Iterator[Finding]:
    fix = "lookbench-triton install"
    if not place.triton.is_dir():
        yield Finding("triton", "missing", f"not installed in {place.triton}", fix)
        return
    if extras.missing("triton"):
        yield Finding("triton", "warning", f"{place.triton} could not be checked", fix)
        return
    command = [place.python, "-m", "lookbench_triton", "check", "--dir", str(place.triton)]
    try:
        done = subprocess.run(  # noqa: S603 - our own command line
            command, capture_output=True, text=True, timeout=120, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding("triton", "missing", f"cannot be checked: {error}", fix)
        return
    lines = (done.stderr or done.stdout).strip().splitlines()
    problem = lines[-1] if lines else f"exit code {done.returncode}"
    if done.returncode:
        yield Finding("triton", "missing", problem, fix)
    else:
        yield Finding("triton", "ok", str(place.triton))


def _models(place: Place) -> Iterator[Finding]:
    models = exported_models(place.repository)
    if models:
        yield Finding("models", "ok", f"{', '.join(models)} in {place.repository}")
    else:
        yield Finding(
            "models",
            "missing",
            f"none in {place.repository}",
            f"lookbench-export efficientnet-lite0 --repository {place.repository}",
        )


def _data(place: Place) -> Iterator[Finding]:
    found = fashion_mnist.locate(place.home.data / fashion_mnist.NAME)
    if found:
        yield Finding("demonstration data", "ok", str(found))
    else:
        yield Finding(
            "demonstration data",
            "warning",
            "Fashion-MNIST is not on this machine",
            "lbclient benchmarks fetch fashion-mnist",
        )


def _ports(place: Place) -> Iterator[Finding]:
    try:
        stack = read_stack(place.home)
    except LookbenchClientError as error:
        yield Finding("stack", "missing", error.message, f"rm {place.home.stack_file}")
        return
    if stack is not None and stack.alive():
        yield Finding("ports", "ok", f"in use by our own stack ({stack.ports.evaluator_target})")
        return
    taken = [(n, p) for n, p in asdict(Ports()).items() if not is_free(p)]
    if taken:
        numbers, flags = ", ".join(str(p) for _, p in taken), ", ".join(FLAGS[n] for n, _ in taken)
        fix = f"lbclient up --free-ports   (or other ports with {flags})"
        yield Finding("ports", "warning", f"in use: {numbers}", fix)
    else:
        yield Finding("ports", "ok", ", ".join(str(p) for p in asdict(Ports()).values()))


def _disk(place: Place) -> Iterator[Finding]:
    existing = next(path for path in (place.home.root, *place.home.root.parents) if path.exists())
    yield _space(
        "disk", existing, NEEDED_DISK, f"free space in {existing}, or set LOOKBENCH_HOME elsewhere"
    )


def _shared_memory(place: Place) -> Iterator[Finding]:
    path = Path("/dev/shm")  # noqa: S108 - looked at, not written to
    if not path.is_dir():
        yield Finding(
            "shared memory", "missing", f"{path} does not exist", f"mount tmpfs at {path}"
        )
        return
    yield _space(
        "shared memory",
        path,
        NEEDED_SHARED_MEMORY,
        "remove stale files from /dev/shm; in a container start it with --shm-size=256m",
    )


def _space(name: str, path: Path, needed: int, fix: str) -> Finding:
    free = shutil.disk_usage(path).free
    detail = f"{free >> 20:,} MiB free in {path}"
    if free >= needed:
        return Finding(name, "ok", detail)
    return Finding(name, "missing", f"{detail}, {needed >> 20:,} MiB needed", fix)


_CHECKS: tuple[Callable[[Place], Iterator[Finding]], ...] = (
    _python,
    _extras,
    _libpython,
    _triton,
    _models,
    _data,
    _ports,
    _disk,
    _shared_memory,
)
