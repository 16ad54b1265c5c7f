"""Whether a served model answers every row as if it had been asked alone.

Servers and graphs exist that answer the rows of a batch in another order, of which only
the first row is right, whose padding leaks into short texts, or that mix up requests
which come together. Nothing in a single answer tells. So a few inputs that are always
the same are asked one by one, then in one batch, then all at once, and the answers are
compared. It takes about 30 rows, before the first run of a version.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from lookbench_core.manifest import ImageInput, ModelManifest, TextInput
from lookbench_core.tensors import IMAGE_INPUT
from lookbench_inference.batching import run_bounded
from lookbench_inference.embedders import Served, Tensors, text_tensors
from lookbench_inference.errors import ModelOutputInvalid
from lookbench_inference.texts import Tokenizer

LENGTHS = (3, 40, 200)
"""Tokens of the texts, about; one word may be more than a token, and the model has a limit."""
ORDER = (2, 0, 1, 1, 0, 2, 0, 1)
"""Which probe each row of the batch is: turned round or shifted, it is another order."""
TOGETHER = 16
"""Requests of one row that are asked at once, as far as the model has slots for them."""

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Tolerance:
    """What rounding may do to a row in company.

    cosine: of a row to the same row alone, at least.
    tie: scores so close may change places.
    """

    cosine: float
    tie: float


TOLERANCES = {
    "fp32": Tolerance(0.9999, 1e-3),
    "fp16": Tolerance(0.999, 1e-3),
    # The scale of dynamically quantised activations comes from the whole batch, padding
    # included: 0.984 and score differences of 0.022 were measured for a sentence encoder.
    # Rows that are mixed up are far below.
    "int8": Tolerance(0.95, 0.05),
}
SAME = 1e-3
"""Largest difference in any dimension between equal rows of one batch."""
DISTINCT = 1e-5
"""Where no dimension of unlike inputs differs by more, the model tells nothing apart."""

_WORDS = (
    "red silk dress with long sleeves and floral print blue denim jacket small leather bag "
    "white cotton shirt grey wool coat high heels black boots striped linen skirt"
)


@dataclass(frozen=True)
class Probes:
    """Inputs that are always the same.

    names: of each, for errors.
    tensors: what a request of these probes, by number, holds.
    alike: whether all have the same content for the model, as texts of unknown words.
    """

    names: tuple[str, ...]
    tensors: Callable[[Sequence[int]], Tensors]
    alike: bool = False


class SelfChecks:
    """Which versions have passed; each is checked once, however many runs ask at once."""

    def __init__(self) -> None:
        self._passed: set[tuple[str, str, str]] = set()
        self._locks: dict[str, asyncio.Lock] = {}

    async def ensure(self, served: Served, version: str, folder: Path) -> None:
        """Raises as `check`; what failed is checked again the next time."""
        name = served.manifest.name
        key = (name, served.manifest.graph.digest, version)
        async with self._locks.setdefault(name, asyncio.Lock()):
            if key not in self._passed:
                await check(served, folder)
                self._passed.add(key)


async def check(served: Served, folder: Path) -> None:
    """Asks the probes alone, in a batch of up to 8 and 16 at once, and compares.

    Raises ModelOutputInvalid naming the model, the batch and the worst row; and what
    asking raises.
    """
    probes = await asyncio.to_thread(_probes, served.manifest, folder)
    numbers = range(len(probes.names))
    alone = np.concatenate([await _ask(served, probes, [number]) for number in numbers])
    _check_distinct(served.manifest, probes, alone)
    batch = ORDER[: served.manifest.max_batch_size]
    rows = await _ask(served, probes, batch)
    _check_rows(served.manifest, batch, rows, alone, f"in a batch of {len(batch)}")
    _check_equal_rows(served.manifest, batch, rows)
    singles = list(islice(cycle(numbers), TOGETHER))
    rows = await _ask_together(served, probes, singles)
    _check_rows(served.manifest, singles, rows, alone, f"among {TOGETHER} requests at once")


def image_probes(image: ImageInput) -> Probes:
    """Slopes of colour, noise and squares, uint8 [3, H, W, 3]."""
    height, width = image.height, image.width
    y, x = np.mgrid[0:height, 0:width]
    slopes = np.stack([255 * x / width, 255 * y / height, np.full(x.shape, 128)], axis=-1)
    noise = np.random.default_rng(0).integers(0, 256, (height, width, 3))
    square = max(1, min(height, width) // 8)
    light = ((x // square + y // square) % 2 == 0)[..., None]
    squares = np.where(light, (220, 40, 60), (20, 110, 200))
    pixels = np.stack([slopes, noise, squares]).astype(np.uint8)
    names = tuple(f"the self-check's picture of {what}" for what in ("slopes", "noise", "squares"))
    return Probes(names, lambda rows: {IMAGE_INPUT: pixels[list(rows)]})


def text_probes(text: TextInput, folder: Path) -> Probes:
    """Texts of about LENGTHS tokens, in the first role's template."""
    tokenizer = Tokenizer(text, folder)
    texts = [_words(number, length - 2) for number, length in enumerate(LENGTHS)]
    tokens = tokenizer.encode(texts, next(iter(text.templates))).ids
    names = tuple(f"the self-check's text of {len(ids)} tokens" for ids in tokens)
    return Probes(
        names,
        lambda rows: text_tensors(tokenizer.pad([tokens[row] for row in rows]), text),
        alike=len({frozenset(ids) for ids in tokens}) == 1,
    )


def _words(first: int, count: int) -> str:
    return " ".join(islice(cycle(_WORDS.split()), 3 * first, 3 * first + count))


def _probes(manifest: ModelManifest, folder: Path) -> Probes:
    if manifest.image is not None:
        return image_probes(manifest.image)
    return text_probes(cast(TextInput, manifest.text), folder)  # it has one of the two


async def _ask(served: Served, probes: Probes, rows: Sequence[int]) -> Vectors:
    async def tensors() -> Tensors:
        return probes.tensors(rows)

    return await served.answer([probes.names[row] for row in rows], tensors)


async def _ask_together(served: Served, probes: Probes, rows: Sequence[int]) -> Vectors:
    """One row a request; row i of the answer belongs to `rows[i]`."""
    answers: dict[int, Vectors] = {}

    async def one(place: int) -> None:
        answers[place] = await _ask(served, probes, [rows[place]])

    await run_bounded((partial(one, place) for place in range(len(rows))), len(rows))
    return np.concatenate([answers[place] for place in range(len(rows))])


def _check_distinct(manifest: ModelManifest, probes: Probes, alone: Vectors) -> None:
    if not probes.alike and np.ptp(alone, axis=0).max() <= DISTINCT:
        raise ModelOutputInvalid(
            f"model {manifest.name} answers the same vector for unlike inputs "
            f"({', '.join(probes.names)}), so that a ranking would mean nothing; {_NEXT_STEP}",
            model=manifest.name,
        )


def _check_equal_rows(manifest: ModelManifest, rows: Sequence[int], answers: Vectors) -> None:
    """Equal inputs side by side have equal vectors."""
    places = np.asarray(rows)
    for probe in set(rows):
        difference = np.ptp(answers[places == probe], axis=0).max()
        if difference > SAME:
            raise ModelOutputInvalid(
                f"model {manifest.name} answers equal rows of one batch of {len(rows)} with "
                f"vectors that differ by {difference:.6f}; {_NEXT_STEP}",
                model=manifest.name,
                rows=len(rows),
                difference=f"{difference:.6f}",
            )


def _check_rows(
    manifest: ModelManifest, rows: Sequence[int], answers: Vectors, alone: Vectors, where: str
) -> None:
    """Every row is what it is alone, and the probes rank each other as they do alone."""
    tolerance = TOLERANCES[manifest.graph.precision]
    expected = alone[list(rows)].astype(np.float64)
    cosines = np.sum(answers * expected, axis=1)
    worst = int(cosines.argmin())
    told = {"model": manifest.name, "rows": len(rows), "cosine": f"{cosines[worst]:.6f}"}
    if cosines[worst] < tolerance.cosine:
        raise ModelOutputInvalid(
            f"model {manifest.name} answers row {worst} {where} unlike the same input alone: "
            f"cosine {told['cosine']}, at least {tolerance.cosine} is expected of "
            f"{manifest.graph.precision}; {_NEXT_STEP}",
            row=worst,
            precision=manifest.graph.precision,
            **told,
        )
    if _ranks_differ(expected @ expected.T, answers @ answers.T, tolerance.tie):
        raise ModelOutputInvalid(
            f"model {manifest.name} ranks inputs {where} in another order than alone, though "
            f"its worst cosine is {told['cosine']}; {_NEXT_STEP}",
            **told,
        )


def _ranks_differ(
    expected: npt.NDArray[np.floating], found: npt.NDArray[np.floating], tie: float
) -> bool:
    """Whether some row of scores puts two columns, no tie, the other way round."""
    ahead = expected[:, :, None] - expected[:, None, :] > tie
    behind = found[:, :, None] <= found[:, None, :]
    return bool((ahead & behind).any())


_NEXT_STEP = (
    "restart Triton; if that does not help, export the model again with lookbench-export "
    "--force; LOOKBENCH_EVALUATOR_SELF_CHECK=false leaves this check out"
)
