"""Contents of single files below a source folder."""

from pathlib import Path

from lookbench_evaluator.benchmarks.paths import confine
from lookbench_evaluator.benchmarks.source import (
    FILE_MISSING,
    FILE_TOO_LARGE,
    FILE_UNREADABLE,
    PATH_OUTSIDE_SOURCE,
)
from lookbench_evaluator.errors import PathOutsideRoot, SourceNotFound
from lookbench_inference.errors import ItemUnreadable

MAX_FILE_BYTES = 256 << 20


def read_item_file(path: str, base: Path, root: Path) -> bytes:
    """Bytes of the file that a row names, relative to `base`, confined to `root`.

    Raises ItemUnreadable with PATH_OUTSIDE_SOURCE, FILE_MISSING, FILE_TOO_LARGE
    (over 256 MiB) or FILE_UNREADABLE.
    """
    try:
        file = confine(base / path, [root])
    except PathOutsideRoot as error:
        raise ItemUnreadable(PATH_OUTSIDE_SOURCE, error.problem) from None
    try:
        if not file.is_file():
            raise ItemUnreadable(FILE_MISSING, f"{path!r} is not a file")
        size = file.stat().st_size
        if size > MAX_FILE_BYTES:
            raise ItemUnreadable(
                FILE_TOO_LARGE, f"{path!r} has {size} bytes, over the limit of {MAX_FILE_BYTES}"
            )
        return file.read_bytes()
    except OSError as error:
        raise ItemUnreadable(FILE_UNREADABLE, f"{path!r}: {error.strerror}") from None


def require_folder(path: Path) -> Path:
    """`path`, a folder. Raises SourceNotFound."""
    if not path.is_dir():
        raise SourceNotFound(f"{path} is not a folder; name the benchmark's folder", path=path)
    return path


def first_file(folder: Path, *names: str) -> Path:
    """The first of `names` that is a file in `folder`. Raises SourceNotFound."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    wanted = " or ".join(names)
    raise SourceNotFound(f"{folder} has no file {wanted}", folder=folder, wanted=wanted)
