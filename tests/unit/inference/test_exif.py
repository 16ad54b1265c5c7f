import struct

import pytest
from PIL import Image, ImageOps

from lookbench_inference.exif import orientation, upright


def exif(value: int, order: str = "<", kind: int = 3, tag: int = 0x0112) -> bytes:
    mark = b"II" if order == "<" else b"MM"
    number = struct.pack(
        order + ("HH" if kind == 3 else "I"), *((value, 0) if kind == 3 else (value,))
    )
    entry = struct.pack(order + "HHI", tag, kind, 1) + number
    return mark + struct.pack(order + "HIH", 42, 8, 1) + entry + struct.pack(order + "I", 0)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", [3, 4])
@pytest.mark.parametrize("prefix", [b"", b"Exif\0\0"])
def test_both_byte_orders_types_and_prefixes_are_read(order: str, kind: int, prefix: bytes) -> None:
    assert orientation(prefix + exif(6, order, kind)) == 6


@pytest.mark.parametrize("data", [b"", b"Exif\0\0", exif(6, tag=0x010F)])
def test_without_the_tag_the_image_is_upright(data: bytes) -> None:
    assert orientation(data) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"garbage that is no TIFF header",
        b"II",
        b"II" + struct.pack("<HI", 43, 8),
        exif(6)[:12],
        struct.pack("<2sHI", b"II", 42, 1 << 30),
        exif(0),
        exif(9),
        exif(6, kind=2)[:20],
    ],
)
def test_damage_is_an_error_and_no_guess(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"II nor MM|magic number|cut short|orientation"):
        orientation(data)


@pytest.mark.parametrize("value", range(1, 9))
def test_every_orientation_turns_as_pillow_turns(value: int) -> None:
    # Reference: PIL.ImageOps.exif_transpose.
    image = Image.new("RGB", (3, 2))
    image.putdata([(10 * n, n, 255 - n) for n in range(6)])
    tagged = image.copy()
    tagged.getexif()[0x0112] = value

    expected = ImageOps.exif_transpose(tagged)
    actual = upright(image, exif(value))

    assert actual.size == expected.size
    assert actual.tobytes() == expected.tobytes()
