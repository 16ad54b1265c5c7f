"""The shared libpython that the stubs for Python 3.11 and 3.12 are linked to.

Debian's and Ubuntu's python3 packages do not depend on it; interpreters built
with --enable-shared, and those that uv installs, bring it along.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lookbench_core.digests import file_digest
from lookbench_triton.errors import InstallFailed
from lookbench_triton.layout import LIBPYTHON, libpython_name

OWN_LIBPYTHON = ("3.13",)  # stubs whose libpython is inside the wheel


def needs_libpython(python: str) -> bool:
    """Whether the stub of this Python version asks the machine for libpython."""
    return python not in OWN_LIBPYTHON


def find_libpython(python: str, install_dir: Path) -> Path | None:
    """Folder that holds the libpython of a version, the interpreter's own first; None: nowhere."""
    name = libpython_name(python)
    for folder in _folders(python, install_dir):
        if (folder / name).is_file():
            return folder
    return None


def _folders(python: str, install_dir: Path) -> Iterator[Path]:
    for folder in (
        sysconfig.get_config_var("LIBDIR"),
        str(Path(sys.base_prefix) / "lib"),
        str(install_dir / LIBPYTHON),
    ):
        if folder:
            yield Path(folder)
    multiarch = sysconfig.get_config_var("MULTIARCH")
    if multiarch:
        yield Path("/usr/lib") / multiarch
    yield from _linker_folders(libpython_name(python))


def _linker_folders(name: str) -> Iterator[Path]:
    """Folders in which the dynamic linker's cache knows `name`."""
    ldconfig = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")
    if not ldconfig:
        return
    listed = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=False)  # noqa: S603
    for line in listed.stdout.splitlines():
        if line.strip().startswith(f"{name} ") and "=>" in line:
            yield Path(line.split("=>")[1].strip()).parent


def fetch_libpython(python: str, target_dir: Path) -> str:
    """Puts the distribution's libpython into `target_dir`; its digest `sha256:<hex>`.

    Needs no root: apt downloads the package and checks it against the signed
    package list, dpkg-deb unpacks it. Raises InstallFailed with the command that
    an administrator can run instead.
    """
    name = libpython_name(python)
    with tempfile.TemporaryDirectory(prefix="lookbench-libpython-") as scratch:
        package = _download(f"libpython{python}", Path(scratch))
        unpacked = Path(scratch) / "unpacked"
        _run(["dpkg-deb", "-x", str(package), str(unpacked)], Path(scratch), python)
        library = next(unpacked.rglob(name), None)
        if library is None:
            raise _failed(python, f"{package.name} holds no {name}")
        target_dir.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library, target_dir / name)
    return file_digest(target_dir / name)


def _download(package: str, folder: Path) -> Path:
    """The downloaded .deb. As root, stale package lists are refreshed once."""
    python = package.removeprefix("libpython")
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise _failed(python, "this machine has no apt-get")
    try:
        _run(["apt-get", "download", "-q", package], folder, python)
    except InstallFailed:
        if os.geteuid() != 0:
            raise
        _run(["apt-get", "update", "-q"], folder, python)
        _run(["apt-get", "download", "-q", package], folder, python)
    return next(folder.glob(f"{package}_*.deb"))


def _run(command: list[str], folder: Path, python: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise _failed(python, f"{' '.join(command)}: {lines[-1] if lines else 'failed'}")


def _failed(python: str, detail: str) -> InstallFailed:
    return InstallFailed(
        f"The shared library {libpython_name(python)} is missing, and fetching it failed "
        f"({detail}). On Debian or Ubuntu run:\n"
        f"  sudo apt-get update && sudo apt-get install -y libpython{python}\n"
        "With pyenv rebuild Python with PYTHON_CONFIGURE_OPTS=--enable-shared; Pythons that "
        "uv installs have the library.",
        library=libpython_name(python),
    )
