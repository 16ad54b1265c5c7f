"""Embedding models served by Triton, as `Embedder`s.

Everything around the graph comes from the model's manifest.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from lookbench_core.manifest import ImageInput, ModelManifest
from lookbench_core.tensors import ATTENTION_MASK_INPUT, IMAGE_INPUT, TOKEN_IDS_INPUT
from lookbench_inference.batching import run_bounded, split, split_by_length
from lookbench_inference.errors import InferenceDeadline, ItemUnreadable, ModelContractMismatch
from lookbench_inference.images import MAX_PIXELS, prepare
from lookbench_inference.options import EncoderOptions
from lookbench_inference.ports import Embedded, Embedder
from lookbench_inference.space import space_of
from lookbench_inference.texts import Tokenizer
from lookbench_inference.triton import TritonClient
from lookbench_inference.vectors import checked, shortened

TOKEN_BYTES = 16  # two int64 a token: id and mask


@dataclass(frozen=True)
class FanOut:
    """How items become requests.

    in_flight: requests to one model under way at once, of all runs together.
    request_bytes: size of the tensors of one request, at most.
    request_timeout_s: deadline of one request.
    max_pixels: largest image that is decoded.
    """

    in_flight: int = 4
    request_bytes: int = 4 << 20
    request_timeout_s: float = 60.0
    max_pixels: int = MAX_PIXELS


@dataclass(frozen=True)
class Served:
    """A model that was found ready and in agreement with its manifest.

    slots: one for each request that may be under way; whoever asks the same model
        holds the same ones, so that two runs do not put twice as many on it.
    deadline: event-loop time after which nothing is asked any more.
    """

    triton: TritonClient
    manifest: ModelManifest
    fan_out: FanOut
    workers: Executor
    slots: asyncio.Semaphore
    deadline: float | None = None

    async def infer(
        self, ids: Sequence[str], inputs: Mapping[str, npt.NDArray[Any]]
    ) -> npt.NDArray[np.float32]:
        """Checked embeddings of one request, float32 [B, D]. Hold a slot when asking.

        Raises InferenceDeadline, without asking when the deadline has passed.
        """
        manifest = self.manifest
        raw = await self.triton.infer(
            manifest.name, inputs, manifest.output.tensor, self._timeout_s()
        )
        return checked(raw, manifest, ids)

    def _timeout_s(self) -> float:
        if self.deadline is None:
            return self.fan_out.request_timeout_s
        left = self.deadline - asyncio.get_running_loop().time()
        if left <= 0:
            raise InferenceDeadline(
                f"the deadline passed before model {self.manifest.name} was asked",
                model=self.manifest.name,
            )
        return min(self.fan_out.request_timeout_s, left)


class ImageEmbedder:
    """Encoded images → vectors. Decoding and resizing run in the worker pool."""

    def __init__(self, served: Served, options: EncoderOptions) -> None:
        image = served.manifest.image
        if image is None:
            raise ModelContractMismatch(
                f"model {served.manifest.name} embeds text, not images", model=served.manifest.name
            )
        self._served, self._image = served, image
        self._preset, self.dimension = options.preset, options.dimension
        self.space = space_of(served.manifest, options)

    async def embed(
        self,
        ids: Sequence[str],
        contents: Sequence[bytes | str],
        on_rows: Callable[[int], None],
    ) -> Embedded:
        """See `Embedder.embed`. Raises ItemUnreadable naming the id."""
        vectors = np.full((len(ids), self.dimension), np.nan, dtype=np.float32)
        served, image = self._served, self._image

        async def one(part: slice) -> None:
            async with served.slots:
                pixels = await asyncio.get_running_loop().run_in_executor(
                    served.workers,
                    _pixels,
                    ids[part],
                    cast(Sequence[bytes], contents[part]),
                    image,
                    self._preset,
                    served.fan_out.max_pixels,
                )
                answer = await served.infer(ids[part], {IMAGE_INPUT: pixels})
            vectors[part] = shortened(answer, self.dimension)
            on_rows(len(answer))

        parts = split(
            len(ids),
            image.height * image.width * 3,
            served.manifest.max_batch_size,
            served.fan_out.request_bytes,
        )
        await run_bounded((partial(one, part) for part in parts), served.fan_out.in_flight)
        return Embedded(vectors, np.zeros(len(ids), dtype=np.bool_))


class TextEmbedder:
    """Texts → vectors. Texts of similar length share a request."""

    def __init__(self, served: Served, options: EncoderOptions, model_dir: Path) -> None:
        text = served.manifest.text
        if text is None:
            raise ModelContractMismatch(
                f"model {served.manifest.name} embeds images, not text", model=served.manifest.name
            )
        self._served, self._text = served, text
        self._tokenizer = Tokenizer(text, model_dir)
        self._role, self._instruction = options.role, options.instruction
        self.dimension = options.dimension
        self.space = space_of(served.manifest, options)

    async def embed(
        self,
        ids: Sequence[str],
        contents: Sequence[bytes | str],
        on_rows: Callable[[int], None],
    ) -> Embedded:
        """See `Embedder.embed`."""
        served = self._served
        vectors = np.full((len(ids), self.dimension), np.nan, dtype=np.float32)
        encoded = await asyncio.get_running_loop().run_in_executor(
            served.workers,
            self._tokenizer.encode,
            cast(Sequence[str], contents),
            self._role,
            self._instruction,
        )

        async def one(rows: npt.NDArray[np.int64]) -> None:
            batch = self._tokenizer.pad([encoded.ids[row] for row in rows])
            inputs = {TOKEN_IDS_INPUT: batch.token_ids, ATTENTION_MASK_INPUT: batch.mask}
            if not self._text.has_attention_mask:
                del inputs[ATTENTION_MASK_INPUT]
            async with served.slots:
                answer = await served.infer([ids[row] for row in rows], inputs)
            vectors[rows] = shortened(answer, self.dimension)
            on_rows(len(answer))

        groups = split_by_length(
            [len(row) for row in encoded.ids],
            served.manifest.max_batch_size,
            served.fan_out.request_bytes // TOKEN_BYTES,
        )
        await run_bounded((partial(one, group) for group in groups), served.fan_out.in_flight)
        return Embedded(vectors, np.asarray(encoded.truncated, dtype=np.bool_))


def open_embedder(served: Served, options: EncoderOptions, model_dir: Path) -> Embedder:
    """The embedder for the manifest's modality. `options` are `completed` ones.

    Raises ModelContractMismatch for a model that embeds nothing.
    """
    if served.manifest.kind == "image_embedding":
        return ImageEmbedder(served, options)
    if served.manifest.kind == "text_embedding":
        return TextEmbedder(served, options, model_dir)
    raise ModelContractMismatch(
        f"model {served.manifest.name} is a {served.manifest.kind}, not an embedding model",
        model=served.manifest.name,
    )


def _pixels(
    ids: Sequence[str],
    contents: Sequence[bytes],
    image: ImageInput,
    preset: str,
    max_pixels: int,
) -> npt.NDArray[np.uint8]:
    """uint8 [B, H, W, 3]."""
    batch = np.empty((len(ids), image.height, image.width, 3), dtype=np.uint8)
    for row, (item, content) in enumerate(zip(ids, contents, strict=True)):
        try:
            batch[row] = prepare(content, image, preset, max_pixels=max_pixels).pixels
        except ItemUnreadable as error:
            raise ItemUnreadable(error.row_reason, f"item {item}: {error.message}") from error
    return batch
