"""What the evaluator needs of a served model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lookbench_inference.space import VectorSpace


@dataclass(frozen=True)
class Embedded:
    """Embeddings of a sequence of items.

    vectors: float32 [N, D], rows of L2 norm 1, row i belongs to item i.
    truncated: bool [N], texts that were longer than the model accepts.
    """

    vectors: npt.NDArray[np.float32]
    truncated: npt.NDArray[np.bool_]


class TensorServer(Protocol):
    """Runs graphs: one Triton, or several that are asked as one."""

    async def infer(
        self,
        model: str,
        inputs: Mapping[str, npt.NDArray[Any]],
        output: str,
        timeout_s: float,
        deadline: float | None = None,
    ) -> npt.NDArray[np.float32]:
        """The output tensor for one batch of inputs, of whatever type and shape it came.

        timeout_s: of each try. deadline: event-loop time at which all of them end.

        Raises TritonUnavailable, ModelNotReady, ModelContractMismatch,
        ModelOutputInvalid, InferenceDeadline, InferenceFailed.
        """
        ...


class Embedder(Protocol):
    """Turns raw items (encoded images, or texts) into vectors."""

    dimension: int
    space: VectorSpace

    async def embed(
        self,
        ids: Sequence[str],
        contents: Sequence[bytes | str],
        on_rows: Callable[[int], None],
    ) -> Embedded:
        """One vector an item, in order. `ids` name the items in errors only.

        `on_rows` is told how many more rows are done, after each request.

        Raises ItemUnreadable, ModelOutputInvalid, TritonUnavailable, InferenceDeadline.
        """
        ...


class Reranker(Protocol):
    """Scores candidate texts against a query."""

    async def score(self, query: str, candidates: Sequence[str]) -> npt.NDArray[np.float32]:
        """float32 [N]; larger is more relevant."""
        ...
