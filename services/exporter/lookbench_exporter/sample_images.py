"""Images that every image model is compared on.

A folder that the user names; otherwise Fashion-MNIST's real product photos
where that data set is installed, together with generated pictures that have
what those lack: colour, detail, and sides of different length.
"""

import gzip
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

from lookbench_exporter.errors import SourceInvalid, SourceNotFound

MINIMUM = 8
_MAXIMUM = 32
_SUFFIXES = {".bmp", ".jpeg", ".jpg", ".png", ".webp"}
_IDX_FILE = "t10k-images-idx3-ubyte.gz"
_IDX_HEADER = 16
_SIDE = 28


@dataclass(frozen=True)
class SampleImages:
    """Encoded images with their names, and a sentence for the manifest on what they are."""

    names: tuple[str, ...]
    contents: tuple[bytes, ...]
    description: str


def images_from_folder(folder: Path) -> SampleImages:
    """The first 32 image files of a folder by name, at least 8.

    Raises SourceNotFound, SourceInvalid.
    """
    if not folder.is_dir():
        raise SourceNotFound(f"{folder} is not a folder of images", path=folder)
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in _SUFFIXES)
    if len(files) < MINIMUM:
        raise SourceInvalid(
            f"{folder} holds {len(files)} images ({', '.join(sorted(_SUFFIXES))}); the comparison "
            f"needs at least {MINIMUM}",
            path=folder,
            images=len(files),
        )
    files = files[:_MAXIMUM]
    return SampleImages(
        tuple(path.name for path in files),
        tuple(path.read_bytes() for path in files),
        f"{len(files)} images of a folder given by the user",
    )


def default_images(data_folders: Sequence[Path]) -> SampleImages:
    """Eight Fashion-MNIST photos if one of the folders has them, and eight generated pictures."""
    generated = [_encoded(_picture(seed)) for seed in range(MINIMUM)]
    names = [f"generated picture {seed}" for seed in range(MINIMUM)]
    for folder in data_folders:
        path = folder / _IDX_FILE
        if path.is_file():
            photos = [_encoded(Image.fromarray(pixels)) for pixels in _idx_images(path, MINIMUM)]
            return SampleImages(
                (*(f"Fashion-MNIST test image {row}" for row in range(MINIMUM)), *names),
                (*photos, *generated),
                f"{MINIMUM} Fashion-MNIST test images, {MINIMUM} generated pictures",
            )
    return SampleImages(tuple(names), tuple(generated), f"{MINIMUM} generated pictures")


def _idx_images(path: Path, count: int) -> npt.NDArray[np.uint8]:
    """The first images of an IDX file, uint8 [count, 28, 28].

    Raises SourceInvalid for a file that ends early.
    """
    with gzip.open(path) as file:
        content = file.read(_IDX_HEADER + count * _SIDE * _SIDE)[_IDX_HEADER:]
    if len(content) != count * _SIDE * _SIDE:
        raise SourceInvalid(f"{path} ends early; install the data set again", path=path)
    return np.frombuffer(content, np.uint8).reshape(count, _SIDE, _SIDE)


def _picture(seed: int) -> Image.Image:
    """A backdrop with uneven light, a garment-like shape with a woven texture, and grain."""
    chance = np.random.default_rng(seed)
    width, height = (int(side) for side in chance.integers(200, 480, size=2))
    picture = Image.fromarray(_backdrop(chance, width, height))
    cloth = Image.fromarray(_weave(chance, width, height))
    mask = _garment(chance, width, height).filter(ImageFilter.GaussianBlur(1.5))
    picture.paste(cloth, mask=mask)
    grain = chance.normal(0, 4, size=(height, width, 3))
    return Image.fromarray(np.clip(np.asarray(picture) + grain, 0, 255).astype(np.uint8))


def _backdrop(chance: np.random.Generator, width: int, height: int) -> npt.NDArray[np.uint8]:
    corners = chance.integers(90, 256, size=(2, 2, 3)).astype(np.uint8)
    blended = Image.fromarray(corners).resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(blended)


def _weave(chance: np.random.Generator, width: int, height: int) -> npt.NDArray[np.uint8]:
    base, stripe = chance.integers(0, 256, size=(2, 3))
    period = chance.integers(4, 40, size=2)
    rows, columns = np.mgrid[:height, :width]
    share = 0.5 + 0.25 * (np.sin(rows * 6.283 / period[0]) + np.sin(columns * 6.283 / period[1]))
    mixed: npt.NDArray[np.uint8] = (base + share[..., None] * (stripe - base)).astype(np.uint8)
    return mixed


def _garment(chance: np.random.Generator, width: int, height: int) -> Image.Image:
    """A mask: a body between shoulders and hem, with two sleeves."""
    shoulder, hem, sleeve = chance.uniform(0.15, 0.3), chance.uniform(0.2, 0.45), chance.random()
    outline = [
        (0.5 - shoulder, 0.15), (0.5 + shoulder, 0.15), (0.95, 0.3 + 0.4 * sleeve),
        (0.85, 0.35 + 0.4 * sleeve), (0.5 + shoulder, 0.35), (0.5 + hem, 0.92),
        (0.5 - hem, 0.92), (0.5 - shoulder, 0.35), (0.15, 0.35 + 0.4 * sleeve),
        (0.05, 0.3 + 0.4 * sleeve),
    ]  # fmt: skip
    mask = Image.new("L", (width, height))
    ImageDraw.Draw(mask).polygon([(x * width, y * height) for x, y in outline], fill=255)
    return mask


def _encoded(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()
