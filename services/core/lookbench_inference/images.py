"""Encoded images → the pixels that a graph takes.

    bytes ── decode ──▶ RGB or grey image ── preprocess ──▶ uint8 [H, W, 3]

Every function is pure and can be pickled: run them in threads or processes.
Normalisation is part of the graph and never happens here.
"""

import io
import warnings as python_warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from lookbench_core.manifest import ImageInput, Resize
from lookbench_inference.colour import PROFILE_UNREADABLE, to_srgb
from lookbench_inference.errors import ItemUnreadable, ModelContractMismatch
from lookbench_inference.exif import upright

PREPROCESSING_VERSION = 1
"""Raise it when the same bytes begin to give other pixels: it is part of cache keys."""

MAX_PIXELS = 178_956_970
"""Twice Pillow's `MAX_IMAGE_PIXELS`: where Pillow itself refuses (about 0.5 GB as RGB)."""

# Formats without an external program, without a scene to be rendered.
FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")

IMAGE_UNREADABLE = "IMAGE_UNREADABLE"
IMAGE_TOO_LARGE = "IMAGE_TOO_LARGE"

EXIF_UNREADABLE = "EXIF_UNREADABLE"
FIRST_FRAME_ONLY = "FIRST_FRAME_ONLY"
WARNINGS = {
    EXIF_UNREADABLE: "EXIF unreadable, orientation ignored",
    FIRST_FRAME_ONLY: "several frames, first one used",
    PROFILE_UNREADABLE: "colour profile unreadable or unfit, ignored",
}
"""What a decoded image may carry, in words."""

_FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}


@dataclass(frozen=True)
class Decoded:
    """An image in mode RGB, or L where it is grey, upright; and keys of WARNINGS."""

    image: Image.Image
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """uint8 [H, W, 3] in RGB, and keys of WARNINGS."""

    pixels: npt.NDArray[np.uint8]
    warnings: tuple[str, ...] = ()


def decode(content: bytes, *, max_pixels: int = MAX_PIXELS) -> Decoded:
    """The whole first frame of an encoded image, in sRGB, upright.

    Raises ItemUnreadable with row_reason IMAGE_UNREADABLE (empty, of no known
    format, cut short, damaged) or IMAGE_TOO_LARGE (more than `max_pixels`,
    judged before any pixel is decoded).
    """
    if not content:
        raise ItemUnreadable(IMAGE_UNREADABLE, "the file has 0 bytes")
    _prepare_pillow(max_pixels)
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            _check_size(image.size, max_pixels)
            return _decoded(image)
    except (ItemUnreadable, MemoryError):
        raise
    except Image.DecompressionBombError as error:
        raise ItemUnreadable(IMAGE_TOO_LARGE, str(error)) from None
    except UnidentifiedImageError:
        # Pillow's own text holds a memory address: not the same twice.
        known = ", ".join(FORMATS)
        raise ItemUnreadable(
            IMAGE_UNREADABLE, f"not an image of a known format ({known})"
        ) from None
    except Exception as error:
        # Decoders raise almost anything on damaged files; none of it may stop 60,000 others.
        raise ItemUnreadable(IMAGE_UNREADABLE, f"cannot be decoded: {error}") from error


def preprocess(
    image: Image.Image, resize: Resize, height: int, width: int, *, max_pixels: int = MAX_PIXELS
) -> npt.NDArray[np.uint8]:
    """uint8 [height, width, 3] of an image in mode RGB or L, not to be written to.

    Pillow's filters, antialiased when reducing. `shortest_edge_crop` follows the
    image processors of transformers: the long side is cut to an integer, the
    crop starts at floor((side - crop) / 2), and what is missing is black.

    Raises ItemUnreadable (IMAGE_TOO_LARGE) where a very long image would grow
    beyond `max_pixels` on its way: 1 x 4,000 becomes 256 x 1,024,000.
    """
    resample = _FILTERS[resize.filter]
    if resize.shortest_edge is None:
        return _three_bands(image.resize((width, height), resample))
    size = _shortest_edge_size(image.size, resize.shortest_edge)
    _check_size(size, max_pixels)
    resized = image.resize(size, resample)
    left = (resized.width - width) // 2
    top = (resized.height - height) // 2
    return _three_bands(resized.crop((left, top, left + width, top + height)))


def prepare(
    content: bytes,
    image_input: ImageInput,
    preset: str | None = None,
    *,
    max_pixels: int = MAX_PIXELS,
) -> Prepared:
    """Decodes and preprocesses one image as the manifest says.

    `preset` None means the manifest's default. Raises ItemUnreadable as
    `decode` does, ModelContractMismatch for a preset that the model lacks.
    """
    name = preset or image_input.default_preset
    resize = image_input.presets.get(name)
    if resize is None:
        known = ", ".join(sorted(image_input.presets))
        raise ModelContractMismatch(
            f"preset {name!r} is not in the model's manifest; it has: {known}",
            preset=name,
            known=known,
        )
    decoded = decode(content, max_pixels=max_pixels)
    pixels = preprocess(
        decoded.image, resize, image_input.height, image_input.width, max_pixels=max_pixels
    )
    return Prepared(pixels, decoded.warnings)


def prepare_batch(
    ids: Sequence[str],
    contents: Sequence[bytes],
    image_input: ImageInput,
    preset: str | None = None,
    *,
    max_pixels: int = MAX_PIXELS,
    stopped: Callable[[], bool] = bool,
) -> npt.NDArray[np.uint8]:
    """uint8 [B, H, W, 3], row i of the item `ids[i]`.

    `stopped` is asked before each image; once it is true the rest is left
    undefined, for a caller that has gone. Raises as `prepare`, naming the item.
    """
    batch = np.empty((len(ids), image_input.height, image_input.width, 3), dtype=np.uint8)
    for row, (item, content) in enumerate(zip(ids, contents, strict=True)):
        if stopped():
            break
        try:
            batch[row] = prepare(content, image_input, preset, max_pixels=max_pixels).pixels
        except ItemUnreadable as error:
            raise ItemUnreadable(error.row_reason, f"item {item}: {error.message}") from error
    return batch


def _decoded(image: Image.Image) -> Decoded:
    image.load()
    exif = image.info.get("exif", b"")
    pixels, warnings = to_srgb(image)
    if image.format == "GIF":
        pixels = pixels.copy()  # to ask a GIF for further frames is to lose the first
    if _several_frames(image):
        warnings = (*warnings, FIRST_FRAME_ONLY)
    try:
        return Decoded(upright(pixels, exif), warnings)
    except ValueError:
        return Decoded(pixels, (*warnings, EXIF_UNREADABLE))


def _three_bands(image: Image.Image) -> npt.NDArray[np.uint8]:
    """uint8 [H, W, 3]; grey three times, which no filter would have made different."""
    pixels = np.asarray(image)
    return pixels if pixels.ndim == 3 else np.broadcast_to(pixels[..., None], (*pixels.shape, 3))


def _several_frames(image: Image.Image) -> bool:
    """Whether frames follow the first."""
    try:
        return bool(getattr(image, "is_animated", False))
    except Exception:
        return True  # a damaged second frame is still a second frame


def _check_size(size: tuple[int, int], max_pixels: int) -> None:
    pixels = size[0] * size[1]
    if pixels > max_pixels:
        raise ItemUnreadable(
            IMAGE_TOO_LARGE,
            f"{size[0]} x {size[1]} = {pixels} pixels, over the limit of {max_pixels}",
        )
    if pixels == 0:
        raise ItemUnreadable(IMAGE_UNREADABLE, f"{size[0]} x {size[1]} has no pixels")


def _shortest_edge_size(size: tuple[int, int], edge: int) -> tuple[int, int]:
    width, height = size
    if width <= height:
        return edge, int(edge * height / width)
    return int(edge * width / height), edge


def _prepare_pillow(max_pixels: int) -> None:
    """Keeps Pillow's own limit above ours, and its Python warnings to itself.

    Both belong to the process. What matters of the warnings is returned as
    WARNINGS; a filter that stays is safe in threads, which `catch_warnings` is not.
    """
    if Image.MAX_IMAGE_PIXELS is not None and max_pixels > 2 * Image.MAX_IMAGE_PIXELS:
        Image.MAX_IMAGE_PIXELS = -(-max_pixels // 2)
    first = python_warnings.filters[:1]
    if not (first and first[0][0] == "ignore" and getattr(first[0][3], "pattern", "") == "PIL\\."):
        python_warnings.filterwarnings("ignore", module="PIL\\.")
