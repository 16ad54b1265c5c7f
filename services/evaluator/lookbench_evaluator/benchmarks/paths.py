"""Paths that callers and data files name: nothing outside the agreed folders is read."""

from collections.abc import Sequence
from pathlib import Path

from lookbench_evaluator.errors import PathOutsideRoot


def confine(path: Path | str, roots: Sequence[Path], *, field: str = "path") -> Path:
    """`path` with symbolic links resolved; a relative one stands below the first root.

    Whether it exists is not asked. Raises PathOutsideRoot, which names `field`,
    when it lies in none of `roots` (a root itself is allowed).
    """
    try:
        resolved = (roots[0] / path).resolve()
        real_roots = [root.resolve() for root in roots]
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a zero byte
        raise PathOutsideRoot(
            field, f"{str(path)!r} cannot be resolved: {error}", path=path
        ) from None
    if any(resolved.is_relative_to(root) for root in real_roots):
        return resolved
    known = ", ".join(map(str, roots))
    raise PathOutsideRoot(
        field, f"{str(path)!r} lies outside {known}; name a path below it", path=path, roots=known
    )
