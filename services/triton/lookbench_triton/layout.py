"""Where the parts of an installed server stand, and how each is known to be intact.

DIR/pytriton/tritonserver/bin/tritonserver
DIR/nvidia_pytriton.libs/                  its libraries
DIR/backends/python/                       Python backend, stub of the running Python
DIR/backends/onnxruntime/model.py          our backend
DIR/libpython/                             only where the machine had no libpython
DIR/install.json                           what was installed
"""

import json
from dataclasses import dataclass
from pathlib import Path

from lookbench_core.digests import file_digest
from lookbench_triton.errors import NotInstalled
from lookbench_triton.machine import architecture, python_tag

WHEEL = "nvidia-pytriton==0.7.0"
SERVER = "pytriton/tritonserver/bin/tritonserver"
STUB = "backends/python/triton_python_backend_stub"
LIBRARIES = "nvidia_pytriton.libs"
BACKENDS = "backends"
OUR_BACKEND = "backends/onnxruntime/model.py"
LIBPYTHON = "libpython"
RECORD = "install.json"
RECORD_VERSION = 1

PACKAGE = Path(__file__).parent
REQUIREMENTS = PACKAGE / "wheel" / "requirements.txt"
BACKEND_SOURCE = PACKAGE / "backends" / "onnxruntime" / "model.py"


@dataclass(frozen=True)
class Part:
    """One file: where it lies in the wheel, where in DIR, and its digest `sha256:<hex>`."""

    source: str
    target: str
    digest: str


def parts(machine: str, python: str) -> list[Part]:
    """Every file taken from the wheel, for one architecture and Python version."""
    listed = (PACKAGE / "wheel" / f"{machine}.sha256").read_text(encoding="ascii")
    found = []
    for line in listed.splitlines():
        digest, source = line.split("  ", 1)
        target = _target(source, python)
        if target:
            found.append(Part(source, target, f"sha256:{digest}"))
    return found


def _target(source: str, python: str) -> str | None:
    """Place of a wheel's file in DIR; None for what this Python version does not need."""
    name = source.rsplit("/", 1)[-1]
    if "/python_backend_stubs/" in source:
        return STUB if f"/{python}/" in source else None
    if name.startswith("libpython3-"):  # carried for the stub of 3.13, and only for it
        return source if python == "3.13" else None
    if "/backends/python/" in source:
        return f"backends/python/{name}"
    return f"licenses/{name}" if source.endswith("/LICENSE") else source


@dataclass(frozen=True)
class Record:
    """Contents of install.json."""

    wheel: str
    machine: str
    python: str
    libpython: str | None
    """`sha256:<hex>` of the file in DIR/libpython; None where the machine's own serves."""
    schema_version: int = RECORD_VERSION


def write_record(directory: Path, record: Record) -> None:
    """Writes install.json."""
    text = json.dumps(record.__dict__, indent=2, sort_keys=True) + "\n"
    (directory / RECORD).write_text(text, encoding="utf-8")


def read_record(directory: Path) -> Record:
    """The record of an install. Raises NotInstalled where there is none or it is unreadable."""
    path = directory / RECORD
    try:
        return Record(**json.loads(path.read_bytes()))
    except (FileNotFoundError, NotADirectoryError):
        message = f"Triton is not installed in {directory}"
    except (OSError, ValueError, TypeError) as error:
        message = f"{path} is damaged ({error})"
    raise NotInstalled(f"{message}; run: lookbench-triton install", path=path)


def require_installed(directory: Path) -> Record:
    """The record, when the install fits this Python and its files exist (digests unread)."""
    record = read_record(directory)
    fault = _outdated(record)
    if not fault:
        missing = [
            p.target
            for p in parts(record.machine, record.python)
            if not (directory / p.target).is_file()
        ]
        fault = f"{missing[0]} is missing" if missing else None
    if fault:
        raise NotInstalled(
            f"The Triton in {directory} cannot be used: {fault}; run: lookbench-triton install",
            path=directory,
        )
    return record


def faults(directory: Path) -> list[str]:
    """What is wrong with an install, file by file; empty when it is intact.

    Reads every file (about 110 MB). Raises NotInstalled where nothing is installed.
    """
    record = read_record(directory)
    outdated = _outdated(record)
    if outdated:
        return [outdated]
    expected = {p.target: p.digest for p in parts(record.machine, record.python)}
    expected[OUR_BACKEND] = file_digest(BACKEND_SOURCE)
    if record.libpython:
        expected[f"{LIBPYTHON}/{libpython_name(record.python)}"] = record.libpython
    return [text for text in (_fault(directory, *item) for item in expected.items()) if text]


def libpython_name(python: str) -> str:
    """File name under which the stub asks for the shared libpython."""
    return f"libpython{python}.so.1.0"


def _outdated(record: Record) -> str | None:
    if record.schema_version != RECORD_VERSION or record.wheel != WHEEL:
        return f"it holds {record.wheel}, this version needs {WHEEL}"
    if (record.machine, record.python) != (architecture(), python_tag()):
        return (
            f"it was installed for Python {record.python} on {record.machine}, "
            f"this is Python {python_tag()} on {architecture()}"
        )
    return None


def _fault(directory: Path, target: str, digest: str) -> str | None:
    path = directory / target
    if not path.is_file():
        return f"{path} is missing"
    if file_digest(path) != digest:
        return f"{path} differs from what was published"
    return None
