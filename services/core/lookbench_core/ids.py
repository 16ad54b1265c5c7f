"""Identifiers: resource ids, and the total order of items with equal scores."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

RESOURCE_ID = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
MODEL_ID = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")


def is_resource_id(text: str) -> bool:
    """Whether `text` may name a run or a benchmark: RFC-1034 label, at most 63 characters."""
    return RESOURCE_ID.fullmatch(text) is not None


def is_model_id(text: str) -> bool:
    """Whether `text` may name a model: one path segment, no leading or trailing dot."""
    return MODEL_ID.fullmatch(text) is not None and ".." not in text


def code_point_rank(ids: Sequence[str]) -> npt.NDArray[np.int64]:
    """Rank of each id in ascending code-point order, int64 [N].

    This is the order in which items with equal scores are ranked. It depends
    on the ids alone, never on where they are stored.
    """
    order = sorted(range(len(ids)), key=ids.__getitem__)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids))
    return rank
