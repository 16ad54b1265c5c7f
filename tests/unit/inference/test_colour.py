import io
import struct

import numpy as np
import pytest
from PIL import Image

from lookbench_inference.colour import PROFILE_UNREADABLE, to_rgb


def reopened(image: Image.Image, kind: str = "PNG", **options: object) -> Image.Image:
    file = io.BytesIO()
    image.save(file, kind, **options)
    opened = Image.open(file)
    opened.load()
    return opened


def pixel(image: Image.Image) -> tuple[int, ...]:
    rgb, _ = to_rgb(image)
    assert rgb.mode == "RGB"
    return rgb.getpixel((0, 0))


def linear_profile(space: bytes = b"RGB ") -> bytes:
    """A version 2 profile with the primaries of sRGB, adapted to D50, and gamma 1.0."""

    def xyz(*values: float) -> bytes:
        return b"XYZ \0\0\0\0" + b"".join(struct.pack(">i", round(v * 65536)) for v in values)

    curve = b"curv\0\0\0\0" + struct.pack(">I", 0) + b"\0\0\0\0"
    description = b"desc\0\0\0\0" + struct.pack(">I", 7) + b"linear\0" + bytes(79)
    tags = {
        b"desc": description,
        b"wtpt": xyz(0.9642, 1.0, 0.8249),
        b"rXYZ": xyz(0.4361, 0.2225, 0.0139),
        b"gXYZ": xyz(0.3851, 0.7169, 0.0971),
        b"bXYZ": xyz(0.1431, 0.0606, 0.7141),
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
    rgb, _ = to_rgb(opened)
    assert np.asarray(rgb)[0, :, 0].tolist() == [0, 0, 1, 1, 128, 255]


def test_a_transparent_sixteen_bit_value_becomes_white() -> None:
    image = Image.fromarray(np.array([[300, 301]], dtype=np.uint16))
    image.info["transparency"] = 301
    rgb, _ = to_rgb(image)
    assert np.asarray(rgb)[0, :, 0].tolist() == [1, 255]


def test_thirty_two_bit_integers_are_read_only_as_sixteen() -> None:
    rgb, _ = to_rgb(Image.fromarray(np.array([[0, 65535]], dtype=np.int32)))
    assert np.asarray(rgb)[0, :, 0].tolist() == [0, 255]
    for value in (-1, 65536):
        with pytest.raises(ValueError, match="no defined range"):
            to_rgb(Image.fromarray(np.array([[value]], dtype=np.int32)))


def test_floating_point_is_refused() -> None:
    with pytest.raises(ValueError, match="no defined range"):
        to_rgb(Image.fromarray(np.array([[0.5]], dtype=np.float32)))


def test_a_profile_is_applied() -> None:
    # Linear 128/255 in sRGB, IEC 61966-2-1:
    # 1.055 * (128/255) ** (1/2.4) - 0.055 = 0.7366 -> 187.8
    opened = reopened(Image.new("RGB", (1, 1), (128, 128, 128)), icc_profile=linear_profile())
    rgb, warnings = to_rgb(opened)
    assert rgb.getpixel((0, 0)) == pytest.approx((188, 188, 188), abs=1)
    assert warnings == ()


def test_a_profile_and_transparency_work_together() -> None:
    image = Image.new("RGBA", (2, 1), (128, 128, 128, 255))
    image.putpixel((1, 0), (128, 128, 128, 0))
    rgb, _ = to_rgb(reopened(image, icc_profile=linear_profile()))
    assert rgb.getpixel((0, 0)) == pytest.approx((188, 188, 188), abs=1)
    assert rgb.getpixel((1, 0)) == (255, 255, 255)


def test_a_grey_profile_is_applied_to_grey() -> None:
    opened = reopened(Image.new("L", (1, 1), 128), icc_profile=linear_profile(b"GRAY"))
    rgb, warnings = to_rgb(opened)
    assert rgb.getpixel((0, 0)) == pytest.approx((188, 188, 188), abs=1)
    assert warnings == ()


def test_an_srgb_profile_changes_nothing() -> None:
    from PIL import ImageCms

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    noise = np.random.default_rng(1).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    rgb, warnings = to_rgb(reopened(Image.fromarray(noise), icc_profile=profile))
    assert np.array_equal(np.asarray(rgb), noise)
    assert warnings == ()


@pytest.mark.parametrize(
    "profile", [b"no profile at all", linear_profile()[:200], linear_profile(b"CMYK")]
)
def test_an_unreadable_or_unfit_profile_is_ignored_and_told(profile: bytes) -> None:
    image = Image.new("RGB", (1, 1), (128, 64, 32))
    image.info["icc_profile"] = profile
    rgb, warnings = to_rgb(image)
    assert rgb.getpixel((0, 0)) == (128, 64, 32)
    assert warnings == (PROFILE_UNREADABLE,)
