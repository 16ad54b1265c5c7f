"""The samples of a comparison, prepared once as a client would prepare them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lookbench_core.manifest import ImageInput, TextInput
from lookbench_core.tensors import ATTENTION_MASK_INPUT, IMAGE_INPUT, TOKEN_IDS_INPUT
from lookbench_exporter.errors import SourceInvalid
from lookbench_exporter.family import LoadedModel
from lookbench_exporter.sample_images import SampleImages
from lookbench_exporter.sample_texts import SAMPLE_TEXTS
from lookbench_inference.errors import ItemUnreadable
from lookbench_inference.images import prepare
from lookbench_inference.texts import Padded, Tokenizer, fill

Feeds = dict[str, npt.NDArray[Any]]
_NAME_LENGTH = 40


@dataclass(frozen=True)
class Samples:
    """items: what the reference takes. feeds: positions → input tensors of the graph."""

    names: tuple[str, ...]
    items: tuple[Any, ...]
    feeds: Callable[[Sequence[int]], Feeds]
    description: str


def prepare_samples(model: LoadedModel, folder: Path, images: SampleImages) -> Samples:
    """Samples for a model's modality. folder: the model folder, for the tokenizer file."""
    if model.image is not None:
        return _image_samples(model.image, images)
    if model.text is not None:
        return _text_samples(model.text, folder)
    raise ValueError("a model takes images or text")


def _image_samples(image: ImageInput, images: SampleImages) -> Samples:
    pixels = [
        _pixels(name, content, image)
        for name, content in zip(images.names, images.contents, strict=True)
    ]
    return Samples(
        images.names,
        tuple(pixels),
        lambda rows: {IMAGE_INPUT: np.stack([pixels[row] for row in rows])},
        images.description,
    )


def _pixels(name: str, content: bytes, image: ImageInput) -> npt.NDArray[np.uint8]:
    try:
        return prepare(content, image, image.default_preset).pixels
    except ItemUnreadable as error:
        raise SourceInvalid(
            f"sample image {name}: {error.message}; remove it from the folder", image=name
        ) from error


def _text_samples(text: TextInput, folder: Path) -> Samples:
    """The graph gets ids from the published tokenizer file, the reference gets the words."""
    role = sorted(text.templates)[0]
    tokenizer = Tokenizer(text, folder)
    ids = tokenizer.encode(SAMPLE_TEXTS, role).ids
    return Samples(
        tuple(sample[:_NAME_LENGTH] for sample in SAMPLE_TEXTS),
        tuple(
            fill(text.templates[role], sample, text.default_instruction) for sample in SAMPLE_TEXTS
        ),
        lambda rows: _text_feeds(text, tokenizer.pad([ids[row] for row in rows])),
        f"{len(ids)} texts of {min(map(len, ids))} to {max(map(len, ids))} tokens, as {role}",
    )


def _text_feeds(text: TextInput, batch: Padded) -> Feeds:
    feeds: Feeds = {TOKEN_IDS_INPUT: batch.token_ids}
    if text.has_attention_mask:
        feeds[ATTENTION_MASK_INPUT] = batch.mask
    return feeds
