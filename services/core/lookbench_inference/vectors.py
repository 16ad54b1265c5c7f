"""Checks at the edge: what a model answers is verified before anyone ranks it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lookbench_core.manifest import ModelManifest
from lookbench_inference.errors import ModelOutputInvalid

NORM_TOLERANCE = 1e-3
NAMED_ITEMS = 5


def checked(
    answer: npt.NDArray[Any], manifest: ModelManifest, ids: Sequence[str]
) -> npt.NDArray[np.float32]:
    """The answer as float32 [B, D] with rows of L2 norm 1.

    Raises ModelOutputInvalid naming model and items for a wrong shape or type,
    NaN, infinity, a zero vector, or a norm that the manifest says is 1 and is not.
    """
    expected = (len(ids), manifest.output.dimension)
    if answer.shape != expected or answer.dtype != np.float32:
        raise ModelOutputInvalid(
            f"model {manifest.name} answered {answer.dtype} {answer.shape}, "
            f"expected float32 {expected}",
            model=manifest.name,
            shape=answer.shape,
            expected=expected,
        )
    _refuse(~np.isfinite(answer).all(axis=1), "a NaN or infinite value", manifest, ids)
    norms = np.linalg.norm(answer, axis=1, keepdims=True)
    _refuse(norms[:, 0] == 0, "a zero vector", manifest, ids)
    if not manifest.output.normalised:
        return np.asarray(answer / norms, dtype=np.float32)
    _refuse(np.abs(norms[:, 0] - 1) > NORM_TOLERANCE, "a norm other than 1", manifest, ids)
    return answer


def shortened(vectors: npt.NDArray[np.float32], dimension: int) -> npt.NDArray[np.float32]:
    """The leading `dimension` columns, normalised after the cut.

    Raises ModelOutputInvalid for a dimension above the vectors' own, and for a
    row whose leading part is zero.
    """
    if dimension == vectors.shape[1]:
        return vectors
    if dimension > vectors.shape[1]:
        raise ModelOutputInvalid(
            f"cannot keep {dimension} of {vectors.shape[1]} dimensions", dimension=dimension
        )
    kept = vectors[:, :dimension]
    norms = np.linalg.norm(kept, axis=1, keepdims=True)
    if (norms == 0).any():
        raise ModelOutputInvalid(
            f"a vector is zero in its first {dimension} dimensions", dimension=dimension
        )
    return np.asarray(kept / norms, dtype=np.float32)


def _refuse(
    bad: npt.NDArray[np.bool_], fault: str, manifest: ModelManifest, ids: Sequence[str]
) -> None:
    if not bad.any():
        return
    rows = np.flatnonzero(bad)
    named = ", ".join(ids[row] for row in rows[:NAMED_ITEMS])
    more = "" if len(rows) <= NAMED_ITEMS else f" and {len(rows) - NAMED_ITEMS} more"
    raise ModelOutputInvalid(
        f"model {manifest.name} answered {fault} for {named}{more}; "
        "embeddings like that are never ranked",
        model=manifest.name,
        items=named,
        count=len(rows),
    )
