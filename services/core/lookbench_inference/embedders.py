"""Embedding models served by Triton, as `Embedder`s.

Everything around the graph comes from the model's manifest.

    contents ── prepare, in the worker pool ──▶ tensors ── ask, in a slot ──▶ vectors

Preparing runs ahead of asking, so that the server never waits for a decoder while
there are cores for it. What is prepared waits in memory, and its amount is bounded
by FanOut whatever the number of items and runs (see there).
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from lookbench_core.manifest import ModelManifest, TextInput
from lookbench_core.tensors import ATTENTION_MASK_INPUT, IMAGE_INPUT, TOKEN_IDS_INPUT
from lookbench_inference.batching import Admission, run_bounded, split, split_by_length
from lookbench_inference.errors import InferenceDeadline, ModelContractMismatch
from lookbench_inference.images import MAX_PIXELS, prepare_batch
from lookbench_inference.options import EncoderOptions
from lookbench_inference.ports import Embedded, Embedder, TensorServer
from lookbench_inference.space import space_of
from lookbench_inference.texts import Encoded, Padded, Tokenizer
from lookbench_inference.vectors import checked, shortened

TOKEN_BYTES = 16  # two int64 a token: id and mask
STRETCH = 1024
"""Texts that are tokenised, and sorted by length, together."""

T = TypeVar("T")
Tensors = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class FanOut:
    """How items become requests.

    in_flight: requests to one model under way at once, of all runs together.
    ahead: requests of one model that are prepared, or being prepared, beyond those.
    request_bytes: size of the tensors of one request, at most; an item that alone is
        larger has a request of its own.
    request_timeout_s: deadline of one request.
    max_pixels: largest image that is decoded.

    In memory, for one model: (in_flight + ahead) * request_bytes of tensors; in each
    worker the image that it decodes, 4 bytes a pixel and a few times that in colour
    modes that are converted.
    """

    in_flight: int = 4
    ahead: int = 6
    request_bytes: int = 4 << 20
    request_timeout_s: float = 60.0
    max_pixels: int = MAX_PIXELS

    @property
    def held(self) -> int:
        """Requests of one model in memory at once."""
        return self.in_flight + self.ahead


@dataclass(frozen=True)
class Served:
    """A model that was found ready and in agreement with its manifest.

    admission: whoever asks the same model shares it, so that two runs do not put
        twice as much on it.
    deadline: event-loop time after which nothing is asked any more.
    """

    triton: TensorServer
    manifest: ModelManifest
    fan_out: FanOut
    workers: Executor
    admission: Admission
    deadline: float | None = None

    async def answer(
        self, ids: Sequence[str], prepare: Callable[[], Awaitable[Tensors]]
    ) -> npt.NDArray[np.float32]:
        """Checked embeddings float32 [B, D] of what `prepare` makes once there is room for it.

        Raises InferenceDeadline, with nothing prepared when the deadline has passed.
        """
        async with self.admission.room:
            self._timeout_s()
            inputs = await prepare()
            async with self.admission.slots:
                return await self.infer(ids, inputs)

    async def infer(self, ids: Sequence[str], inputs: Tensors) -> npt.NDArray[np.float32]:
        """Checked embeddings of one request, float32 [B, D]. Ask with a slot held.

        Raises InferenceDeadline, without asking when the deadline has passed.
        """
        manifest = self.manifest
        raw = await self.triton.infer(
            manifest.name, inputs, manifest.output.tensor, self._timeout_s(), self.deadline
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
        """See `Embedder.embed`. Raises ItemUnreadable naming the id.

        Cancelled, it drops what was not begun; a worker ends with the image in hand.
        """
        vectors = np.full((len(ids), self.dimension), np.nan, dtype=np.float32)
        served, image = self._served, self._image
        stopped = threading.Event()

        async def pixels(part: slice) -> Tensors:
            work = partial(
                prepare_batch,
                ids[part],
                cast(Sequence[bytes], contents[part]),
                image,
                self._preset,
                max_pixels=served.fan_out.max_pixels,
                stopped=stopped.is_set,
            )
            return {IMAGE_INPUT: await _run(served.workers, work)}

        async def one(part: slice) -> None:
            answer = await served.answer(ids[part], partial(pixels, part))
            vectors[part] = shortened(answer, self.dimension)
            on_rows(len(answer))

        parts = split(
            len(ids),
            image.height * image.width * 3,
            served.manifest.max_batch_size,
            served.fan_out.request_bytes,
        )
        try:
            await run_bounded((partial(one, part) for part in parts), served.fan_out.held)
        finally:
            stopped.set()
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
        """See `Embedder.embed`. Raises ItemUnreadable naming the id.

        While texts of one stretch are answered, those of the next are tokenised.
        """
        embedded = Embedded(
            np.full((len(ids), self.dimension), np.nan, dtype=np.float32),
            np.zeros(len(ids), dtype=np.bool_),
        )
        texts = cast(Sequence[str], contents)
        stretches = split(len(ids), 0, STRETCH, 0)
        jobs = (partial(self._stretch, ids, texts, part, embedded, on_rows) for part in stretches)
        await run_bounded(jobs, 2)
        return embedded

    async def _stretch(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        part: slice,
        embedded: Embedded,
        on_rows: Callable[[int], None],
    ) -> None:
        """Fills the rows `part` of `embedded`."""
        served, names = self._served, ids[part]
        work = partial(
            self._tokenizer.encode, texts[part], self._role, self._instruction, ids=names
        )
        encoded = await _run(served.workers, work)
        embedded.truncated[part] = encoded.truncated
        vectors = embedded.vectors[part]

        async def one(rows: npt.NDArray[np.int64]) -> None:
            padded = partial(self._padded, encoded, rows)
            answer = await served.answer([names[row] for row in rows], padded)
            vectors[rows] = shortened(answer, self.dimension)
            on_rows(len(answer))

        groups = split_by_length(
            [len(row) for row in encoded.ids],
            served.manifest.max_batch_size,
            served.fan_out.request_bytes // TOKEN_BYTES,
        )
        await run_bounded((partial(one, group) for group in groups), served.fan_out.held)

    async def _padded(self, encoded: Encoded, rows: npt.NDArray[np.int64]) -> Tensors:
        batch = self._tokenizer.pad([encoded.ids[row] for row in rows])
        return text_tensors(batch, self._text)


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


def text_tensors(batch: Padded, text: TextInput) -> Tensors:
    """What a graph takes of a batch: the mask only where the manifest says so."""
    if not text.has_attention_mask:
        return {TOKEN_IDS_INPUT: batch.token_ids}
    return {TOKEN_IDS_INPUT: batch.token_ids, ATTENTION_MASK_INPUT: batch.mask}


async def _run(workers: Executor, work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(workers, work)
