"""Making Fashion-MNIST available on this machine: found, from Debian, or downloaded."""

import gzip
import hashlib
import shutil
import subprocess
import tempfile
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from lbclient.errors import FetchFailed
from lbclient.home import SYSTEM_DATA

NAME = "fashion-mnist"
SYSTEM_FOLDER = SYSTEM_DATA / NAME
PACKAGE = "dataset-fashion-mnist"
OFFICIAL = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"

# SHA-256 of the decompressed IDX files: compressors differ, the data may not.
CONTENT = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}

Say = Callable[[str], None]


class _Unusable(Exception):
    """One source does not have the data; the text says why."""


def content_digest(path: Path) -> str:
    """SHA-256 of a file's content, decompressed when its name ends in `.gz`."""
    digest = hashlib.sha256()
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def problem_with(folder: Path, content: Mapping[str, str] = CONTENT) -> str | None:
    """Why `folder` does not hold the data set, compressed or not; None when it does."""
    for name, expected in content.items():
        path = next((p for p in (folder / f"{name}.gz", folder / name) if p.is_file()), None)
        if path is None:
            return f"{folder / name}.gz does not exist"
        try:
            found = content_digest(path)
        except (OSError, EOFError, zlib.error) as error:
            return f"{path} cannot be read: {error}"
        if found != expected:
            return f"{path} is not the released file: SHA-256 {found}, expected {expected}"
    return None


def locate(target: Path) -> Path | None:
    """`target` or the system's folder, whichever holds the data set first; None: neither."""
    return next((path for path in (target, SYSTEM_FOLDER) if problem_with(path) is None), None)


def fetch(target: Path, say: Say) -> Path:
    """Makes `target` hold the data set, verified, and returns it.

    Tries what is there, the system's package, Debian's package without
    installing it, and the official download, in this order. Raises FetchFailed
    with the outcome of each and what can be done by hand; before any of them when
    `target` could not be written.
    """
    if problem_with(target) is None:
        say(f"{target} has it already")
        return target
    _require_usable(target)
    failures = []
    for source, read in _SOURCES.items():
        say(f"trying {source} …")
        try:
            _publish(read, target)
        except (_Unusable, OSError) as error:
            failures.append(f"  {source}: {error}")
            continue
        return target
    raise FetchFailed(_advice(target, failures), metadata={"target": str(target)})


def _require_usable(target: Path) -> None:
    """Raises FetchFailed for a target that cannot be written or holds other things."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent):
            others = _others(target)
    except OSError as error:
        raise FetchFailed(
            f"cannot write {target}: {error.strerror}; name another folder with --to",
            metadata={"target": str(target)},
        ) from error
    if others:
        raise FetchFailed(
            f"{target} holds other files ({others[0]}); name another folder with --to",
            metadata={"target": str(target)},
        )


def _others(target: Path) -> list[str]:
    """Names in `target` that are not of the data set."""
    ours = {name for released in CONTENT for name in (released, f"{released}.gz")}
    return sorted({path.name for path in target.iterdir()} - ours) if target.exists() else []


def _publish(read: Callable[[Path], Path], target: Path) -> None:
    """Reads into a draft folder, verifies, and puts it in place in one step."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as draft:
        source = read(Path(draft))
        if (problem := problem_with(source)) is not None:
            raise _Unusable(problem)
        ready = Path(draft) / "ready"
        ready.mkdir()
        for path in _released_files(source):
            shutil.copyfile(path, ready / path.name)
        _replace(target, ready)


def _released_files(folder: Path) -> Iterator[Path]:
    for name in CONTENT:
        compressed = folder / f"{name}.gz"
        yield compressed if compressed.is_file() else folder / name


def _replace(target: Path, ready: Path) -> None:
    """Puts `ready` at `target`; refuses to overwrite a folder that holds other things."""
    if others := _others(target):
        raise _Unusable(f"{target} holds other files ({others[0]}); name another with --to")
    if target.exists():
        shutil.rmtree(target)
    ready.rename(target)


def _from_system(draft: Path) -> Path:
    if not SYSTEM_FOLDER.is_dir():
        raise _Unusable(f"{SYSTEM_FOLDER} does not exist")
    return SYSTEM_FOLDER


def _from_debian(draft: Path) -> Path:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise _Unusable("this system has no apt-get")
    _run(["apt-get", "download", PACKAGE], draft)
    packages = sorted(draft.glob(f"{PACKAGE}_*.deb"))
    if not packages:
        raise _Unusable("apt-get downloaded nothing")
    _run(["dpkg-deb", "-x", str(packages[-1]), str(draft / "unpacked")], draft)
    return draft / "unpacked" / SYSTEM_FOLDER.relative_to("/")


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(  # noqa: S603 - fixed command lines
            command, cwd=folder, check=True, capture_output=True, timeout=600, text=True
        )
    except subprocess.TimeoutExpired:
        raise _Unusable(f"`{' '.join(command)}` took longer than 10 minutes") from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or [f"exit code {error.returncode}"]
        raise _Unusable(f"`{' '.join(command)}`: {lines[-1]}") from None


def _from_official(draft: Path) -> Path:
    for name in CONTENT:
        url = f"{OFFICIAL}{name}.gz"
        try:
            with (
                urllib.request.urlopen(url, timeout=60) as answer,  # noqa: S310 - verified by digest
                (draft / f"{name}.gz").open("wb") as file,
            ):
                shutil.copyfileobj(answer, file)
        except OSError as error:
            raise _Unusable(f"{url}: {error}") from None
    return draft


_SOURCES: Mapping[str, Callable[[Path], Path]] = {
    str(SYSTEM_FOLDER): _from_system,
    f"Debian's package {PACKAGE}": _from_debian,
    "the official download": _from_official,
}


def _advice(target: Path, failures: list[str]) -> str:
    outcome = "\n".join(failures)
    return (
        f"Fashion-MNIST could not be fetched:\n{outcome}\n"
        f"Install it with `apt-get update && apt-get install {PACKAGE}` (as root), or copy its "
        f"four .gz files into {target} and run this again."
    )
