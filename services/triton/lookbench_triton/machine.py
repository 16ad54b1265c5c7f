"""What the published server demands of a machine."""

import os
import platform
import sys

from lookbench_triton.errors import MachineUnsupported

ARCHITECTURES = ("x86_64", "aarch64")
PYTHONS = ("3.11", "3.12", "3.13")
OLDEST_GLIBC = (2, 35)


def check_machine() -> None:
    """Raises MachineUnsupported naming the first thing that does not fit, and the way out."""
    architecture()
    python_tag()
    _check_glibc(_glibc_version())


def architecture() -> str:
    """`x86_64` or `aarch64`, on Linux."""
    system, machine = platform.system(), platform.machine()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine.lower(), machine)
    if system != "Linux" or machine not in ARCHITECTURES:
        raise MachineUnsupported(
            f"The embedded Triton is published for Linux on {' and '.join(ARCHITECTURES)}; this "
            f"is {system} on {machine}. Run it in a Linux container, or point the evaluator at "
            "a Triton elsewhere.",
            system=system,
            machine=machine,
        )
    return machine


def python_tag() -> str:
    """`3.11`, for which the server has a stub of its Python backend."""
    tag = f"{sys.version_info.major}.{sys.version_info.minor}"
    if tag not in PYTHONS or sys.implementation.name != "cpython":
        raise MachineUnsupported(
            f"The embedded Triton runs its models with CPython {', '.join(PYTHONS)}; this is "
            f"{sys.implementation.name} {tag} ({sys.executable}). Create the environment with "
            "one of those, for example: python3.11 -m venv .venv",
            python=tag,
        )
    return tag


def _glibc_version() -> str | None:
    """For example `glibc 2.36`; None where the C library is another one."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        return None


def _check_glibc(version: str | None) -> None:
    needed = ".".join(map(str, OLDEST_GLIBC))
    number = (version or "").removeprefix("glibc ").split(".")
    if not version or tuple(int(part) for part in number[:2]) < OLDEST_GLIBC:
        raise MachineUnsupported(
            f"The embedded Triton needs glibc {needed} or newer; this machine has "
            f"{version or 'no glibc (musl?)'}. Debian 12, Ubuntu 22.04 or newer fit.",
            glibc=version,
            needed=needed,
        )
