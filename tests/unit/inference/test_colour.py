import io
import struct

import numpy as np
import pytest
from PIL import Image

from lookbench_inference.colour import PROFILE_UNREADABLE, to_srgb


def reopened(image: Image.Image, kind: str = "PNG", **options: object) -> Image.Image:
    file = io.BytesIO()
    image.save(file, kind, **options)
    opened = Image.open(file)
    opened.load()
    return opened


def pixel(image: Image.Image) -> tuple[int, ...]:
    srgb, _ = to_srgb(image)
    assert srgb.mode in {"RGB", "L"}
    return srgb.convert("RGB").getpixel((0, 0))


def greys(image: Image.Image) -> list[int]:
    """The first row of what becomes a grey image."""
    grey, _ = to_srgb(image)
    assert grey.mode == "L"
    return np.asarray(grey)[0].tolist()


SRGB = ((0.4361, 0.2225, 0.0139), (0.3851, 0.7169, 0.0971), (0.1431, 0.0606, 0.7141))
ADOBE_RGB = ((0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457))


def linear_profile(space: bytes = b"RGB ") -> bytes:
    """A version 2 profile with the primaries of sRGB, adapted to D50, and gamma 1.0."""
    return make_profile(SRGB, space=space)


def make_profile(primaries: tuple, gamma: bytes = b"", space: bytes = b"RGB ") -> bytes:
    """ICC.1:2001-04 with matrix and curves; `gamma` in 8.8 fixed point, 1.0 without."""

    def xyz(*values: float) -> bytes:
        return b"XYZ \0\0\0\0" + b"".join(struct.pack(">i", round(v * 65536)) for v in values)

    curve = b"curv\0\0\0\0" + struct.pack(">I", len(gamma) // 2) + (gamma + b"\0\0\0\0")[:4]
    description = b"desc\0\0\0\0" + struct.pack(">I", 7) + b"linear\0" + bytes(79)
    red, green, blue = primaries
    tags = {
        b"desc": description,
        b"wtpt": xyz(0.9642, 1.0, 0.8249),
        b"rXYZ": xyz(*red),
        b"gXYZ": xyz(*green),
        b"bXYZ": xyz(*blue),
        b"rTRC": curve,
        b"gTRC": curve,
        b"bTRC": curve,
        b"kTRC": curve,
    }
    table, data = struct.pack(">I", len(tags)), b""
    for name, tag in tags.items():
        padded = tag + bytes(-len(tag) % 4)
        table += name + struct.pack(">II", 132 + 12 * len(tags) + len(data), len(padded))
        data += padded
    header = bytes(4) + b"lcms" + struct.pack(">I", 0x02100000) + b"mntr" + space + b"XYZ "
    header += bytes(12) + b"acsp" + bytes(28)
    header += b"".join(struct.pack(">i", round(v * 65536)) for v in (0.9642, 1.0, 0.8249))
    header = header.ljust(128, b"\0")
    whole = header + table + data
    return struct.pack(">I", len(whole)) + whole[4:]


def test_transparent_pixels_become_white() -> None:
    image = Image.new("RGBA", (1, 1), (0, 0, 0, 0))
    assert image.convert("RGB").getpixel((0, 0)) == (0, 0, 0)  # what a plain conversion gives
    assert pixel(reopened(image)) == (255, 255, 255)


def test_half_transparent_red_is_laid_over_white() -> None:
    assert pixel(reopened(Image.new("RGBA", (1, 1), (255, 0, 0, 128)))) == (255, 127, 127)


def test_a_transparent_palette_entry_becomes_white() -> None:
    image = Image.new("P", (1, 1), 0)
    image.putpalette([0, 0, 0, 255, 0, 0])
    opened = reopened(image, transparency=0)
    assert opened.convert("RGB").getpixel((0, 0)) == (0, 0, 0)
    assert pixel(opened) == (255, 255, 255)


def test_a_palette_with_alpha_values_is_laid_over_white() -> None:
    image = Image.new("P", (1, 1), 1)
    image.putpalette([0, 0, 0, 255, 0, 0])
    assert pixel(reopened(image, transparency=bytes([255, 128]))) == (255, 127, 127)


def test_an_opaque_palette_keeps_its_colours() -> None:
    image = Image.new("P", (1, 1), 1)
    image.putpalette([0, 0, 0, 200, 10, 20])
    assert pixel(reopened(image)) == (200, 10, 20)


@pytest.mark.parametrize(("mode", "value"), [("L", 77), ("LA", (77, 255))])
def test_grey_is_replicated(mode: str, value: object) -> None:
    assert pixel(reopened(Image.new(mode, (1, 1), value))) == (77, 77, 77)


def test_grey_with_alpha_is_laid_over_white() -> None:
    assert pixel(reopened(Image.new("LA", (1, 1), (0, 128)))) == (127, 127, 127)


def test_one_grey_value_marked_transparent_becomes_white() -> None:
    assert pixel(reopened(Image.new("L", (1, 1), 5), transparency=5)) == (255, 255, 255)
    assert pixel(reopened(Image.new("L", (1, 1), 5), transparency=6)) == (5, 5, 5)


def test_black_and_white_is_black_and_white() -> None:
    assert pixel(reopened(Image.new("1", (1, 1), 1))) == (255, 255, 255)
    assert pixel(reopened(Image.new("1", (1, 1), 0))) == (0, 0, 0)


def test_cmyk_red_is_red() -> None:
    opened = reopened(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG", quality=100)
    assert opened.mode == "CMYK"
    red, green, blue = pixel(opened)
    assert red >= 253
    assert green <= 2
    assert blue <= 2


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_not_clipped(kind: str) -> None:
    # round(v * 255 / 65535): Pillow's own conversion gives 255 for everything above 255.
    values = np.array([[0, 128, 129, 257, 32768, 65535]], dtype=np.uint16)
    opened = reopened(Image.fromarray(values), kind)
    assert opened.mode == "I;16"
    assert greys(opened) == [0, 0, 1, 1, 128, 255]


def test_a_transparent_sixteen_bit_value_becomes_white() -> None:
    image = Image.fromarray(np.array([[300, 301]], dtype=np.uint16))
    image.info["transparency"] = 301
    rgb, _ = to_srgb(image)
    assert np.asarray(rgb)[0, :, 0].tolist() == [1, 255]


def test_thirty_two_bit_integers_are_read_only_as_sixteen() -> None:
    assert greys(Image.fromarray(np.array([[0, 65535]], dtype=np.int32))) == [0, 255]
    for value in (-1, 65536):
        with pytest.raises(ValueError, match="no defined range"):
            to_srgb(Image.fromarray(np.array([[value]], dtype=np.int32)))


def test_floating_point_is_refused() -> None:
    with pytest.raises(ValueError, match="no defined range"):
        to_srgb(Image.fromarray(np.array([[0.5]], dtype=np.float32)))


def test_a_profile_is_applied() -> None:
    # Linear 128/255 in sRGB, IEC 61966-2-1:
    # 1.055 * (128/255) ** (1/2.4) - 0.055 = 0.7366 -> 187.8
    opened = reopened(Image.new("RGB", (1, 1), (128, 128, 128)), icc_profile=linear_profile())
    rgb, warnings = to_srgb(opened)
    assert rgb.getpixel((0, 0)) == pytest.approx((188, 188, 188), abs=1)
    assert warnings == ()


def test_a_wide_gamut_profile_is_applied() -> None:
    """Adobe RGB (1998) 200, 100, 100, annex C: gamma 563/256, then sRGB's inverse matrix."""
    # (200/255) ** 2.1992 = 0.5861, (100/255) ** 2.1992 = 0.1276; in linear sRGB
    # 0.7686, 0.1277, 0.1276; 255 * (1.055 * v ** (1/2.4) - 0.055) = 227.1, 100.1, 100.1.
    image = Image.new("RGB", (1, 1), (200, 100, 100))
    profile = make_profile(ADOBE_RGB, struct.pack(">H", 563))
    managed, warnings = to_srgb(reopened(image, icc_profile=profile))
    assert managed.getpixel((0, 0)) == pytest.approx((227, 100, 100), abs=1)
    assert warnings == ()


def test_what_needs_no_conversion_is_not_copied() -> None:
    for mode in ("RGB", "L"):
        opened = reopened(Image.new(mode, (2, 2)))
        assert to_srgb(opened)[0] is opened


def test_a_profile_and_transparency_work_together() -> None:
    image = Image.new("RGBA", (2, 1), (128, 128, 128, 255))
    image.putpixel((1, 0), (128, 128, 128, 0))
    rgb, _ = to_srgb(reopened(image, icc_profile=linear_profile()))
    assert rgb.getpixel((0, 0)) == pytest.approx((188, 188, 188), abs=1)
    assert rgb.getpixel((1, 0)) == (255, 255, 255)


def test_a_grey_profile_is_applied_to_grey() -> None:
    opened = reopened(Image.new("L", (1, 1), 128), icc_profile=linear_profile(b"GRAY"))
    rgb, warnings = to_srgb(opened)
    assert rgb.getpixel((0, 0)) == pytest.approx((188, 188, 188), abs=1)
    assert warnings == ()


def test_an_srgb_profile_changes_nothing() -> None:
    from PIL import ImageCms

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    noise = np.random.default_rng(1).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    rgb, warnings = to_srgb(reopened(Image.fromarray(noise), icc_profile=profile))
    assert np.array_equal(np.asarray(rgb), noise)
    assert warnings == ()


@pytest.mark.parametrize(
    "profile", [b"no profile at all", linear_profile()[:200], linear_profile(b"CMYK")]
)
def test_an_unreadable_or_unfit_profile_is_ignored_and_told(profile: bytes) -> None:
    image = Image.new("RGB", (1, 1), (128, 64, 32))
    image.info["icc_profile"] = profile
    rgb, warnings = to_srgb(image)
    assert rgb.getpixel((0, 0)) == (128, 64, 32)
    assert warnings == (PROFILE_UNREADABLE,)
