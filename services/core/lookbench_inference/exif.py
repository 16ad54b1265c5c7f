"""The one thing of EXIF that changes pixels: how the camera was held."""

import struct

from PIL import Image

_ORIENTATION = 0x0112
_FORMATS = {3: "H", 4: "I"}  # SHORT, as the standard says, and LONG, as some cameras write

# How to turn the stored pixels so that they stand upright (EXIF 2.32, tag 0x0112).
TURNS: dict[int, Image.Transpose] = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def orientation(exif: bytes) -> int:
    r"""The value 1..8 of the tag Orientation; 1 (upright) when the tag is absent.

    `exif` is a TIFF header with its directories, with or without the prefix
    `Exif\0\0`. Only the first directory is read, so that damage elsewhere does
    not matter. Raises ValueError when the tag cannot be read.
    """
    tiff = exif.removeprefix(b"Exif\0\0")
    if not tiff:
        return 1
    try:
        return _first_directory(tiff)
    except struct.error:
        raise ValueError("the directory is cut short") from None


def upright(image: Image.Image, exif: bytes) -> Image.Image:
    """`image` turned as its EXIF says. Raises ValueError as `orientation` does."""
    turn = TURNS.get(orientation(exif))
    return image if turn is None else image.transpose(turn)


def _first_directory(tiff: bytes) -> int:
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None:
        raise ValueError("neither II nor MM stands at its start")
    magic, start = struct.unpack_from(order + "HI", tiff, 2)
    if magic != 42:
        raise ValueError(f"its magic number is {magic}, not 42")
    (entries,) = struct.unpack_from(order + "H", tiff, start)
    for at in range(start + 2, start + 2 + 12 * entries, 12):
        tag, kind = struct.unpack_from(order + "HH", tiff, at)
        if tag == _ORIENTATION:
            return _value(tiff, order, kind, at + 8)
    return 1


def _value(tiff: bytes, order: str, kind: int, at: int) -> int:
    if kind not in _FORMATS:
        raise ValueError(f"the orientation has type {kind}")
    value: int
    (value,) = struct.unpack_from(order + _FORMATS[kind], tiff, at)
    if not 1 <= value <= 8:
        raise ValueError(f"the orientation is {value}")
    return value
