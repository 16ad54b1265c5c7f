"""Any mode that a decoder gives, as 8-bit sRGB.

- Transparency is laid over white: shop pictures are cut out for white pages.
- An embedded profile is applied when it can be read and fits the pixels.
- 16-bit grey is scaled by 255/65535 and rounded. Of 16-bit colours Pillow gives the
  upper 8 bits, which is at most one less.
"""

import io
from functools import lru_cache

import numpy as np
from PIL import Image, ImageCms

PROFILE_UNREADABLE = "PROFILE_UNREADABLE"

_WHITE = (255, 255, 255)
_SPACES = {"RGB": "RGB", "L": "GRAY", "CMYK": "CMYK"}
_SIXTEEN_BIT_MODES = frozenset({"I", "I;16", "I;16L", "I;16B", "I;16N"})


def to_srgb(image: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    """The loaded `image` in mode RGB, or L where it is grey.

    With it comes PROFILE_UNREADABLE if its profile was not used. It is `image` itself
    where nothing was to be done: copying a photograph takes as long as decoding it, and
    resizing one band a third of resizing three.

    Raises ValueError for pixels without a defined range (float, 32-bit integers).
    """
    image = _eight_bits(image)
    alpha = image.convert("RGBA").getchannel("A") if image.has_transparency_data else None
    opaque, warnings = _managed(_without_alpha(image), image.info.get("icc_profile"))
    if alpha is not None:
        rgb = opaque.convert("RGB")
        return Image.composite(rgb, Image.new("RGB", rgb.size, _WHITE), alpha), warnings
    return opaque if opaque.mode in {"RGB", "L"} else opaque.convert("RGB"), warnings


def _eight_bits(image: Image.Image) -> Image.Image:
    """`image`, or its 16-bit values as L (LA where one grey value is transparent)."""
    if image.mode == "F":
        raise ValueError("floating point pixels have no defined range")
    if image.mode not in _SIXTEEN_BIT_MODES:
        return image
    values = np.asarray(image).astype(np.int64)
    if values.min() < 0 or values.max() > 65535:
        raise ValueError("32-bit integer pixels have no defined range")
    grey = Image.fromarray(((values * 255 + 32767) // 65535).astype(np.uint8))
    hidden = image.info.get("transparency")
    if isinstance(hidden, int):
        grey.putalpha(Image.fromarray(np.where(values == hidden, 0, 255).astype(np.uint8)))
    if "icc_profile" in image.info:
        grey.info["icc_profile"] = image.info["icc_profile"]
    return grey


def _without_alpha(image: Image.Image) -> Image.Image:
    """Colours in the mode that a profile can describe, transparency dropped."""
    if image.mode == "CMYK" or (image.mode in {"RGB", "L"} and not image.has_transparency_data):
        return image
    if image.mode in {"1", "L", "LA", "La"}:
        return image.convert("LA").convert("L") if image.mode == "La" else image.convert("L")
    if image.has_transparency_data:
        return image.convert("RGBA").convert("RGB")
    return image.convert("RGB")


def _managed(image: Image.Image, profile: bytes | None) -> tuple[Image.Image, tuple[str, ...]]:
    """`image` in sRGB by its profile; unchanged, with a warning, where that cannot be done."""
    if not profile:
        return image, ()
    try:
        transform = _transform(profile, image.mode)
        managed = image if transform is None else ImageCms.applyTransform(image, transform)
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return image, (PROFILE_UNREADABLE,)
    return managed or image, ()


@lru_cache(maxsize=32)
def _transform(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """From `profile` to sRGB; None when the profile is sRGB itself."""
    source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    space = source.profile.xcolor_space.strip()
    if space != _SPACES[mode]:
        raise ValueError(f"a profile for {space} on pixels of mode {mode}")
    if "sRGB" in ImageCms.getProfileDescription(source):
        return None
    return ImageCms.buildTransform(source, ImageCms.createProfile("sRGB"), mode, "RGB")
