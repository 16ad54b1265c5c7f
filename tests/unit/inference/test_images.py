import io
import pickle
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image, ImageFile

from lookbench_core.manifest import ImageInput, Resize
from lookbench_inference.errors import ItemUnreadable, ModelContractMismatch
from lookbench_inference.images import (
    EXIF_UNREADABLE,
    FIRST_FRAME_ONLY,
    IMAGE_TOO_LARGE,
    IMAGE_UNREADABLE,
    MAX_PIXELS,
    PROFILE_UNREADABLE,
    WARNINGS,
    decode,
    prepare,
    prepare_batch,
    preprocess,
)

SQUASH = Resize(mode="squash", filter="bilinear")
NOISE = np.random.default_rng(7).integers(0, 256, (64, 64, 3), dtype=np.uint8)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def png(width: int, height: int, depth: int, colour: int, rows: bytes) -> bytes:
    """A PNG by hand; `rows` with a filter byte before each."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def png_header(width: int, height: int) -> bytes:
    return png(width, height, 8, 0, b"")


def tiff_of_16_bits(red: int, green: int, blue: int) -> bytes:
    """One pixel of 3 x 16 bits, uncompressed (TIFF 6.0, section 6), in 134 bytes."""
    short, long = 3, 4
    entries = [
        (256, short, 1, 1),  # ImageWidth
        (257, short, 1, 1),  # ImageLength
        (258, short, 3, 122),  # BitsPerSample, behind the directory of 8 + 2 + 9 * 12 + 4 bytes
        (259, short, 1, 1),  # Compression: none
        (262, short, 1, 2),  # PhotometricInterpretation: RGB
        (273, long, 1, 128),  # StripOffsets, behind BitsPerSample
        (277, short, 1, 3),  # SamplesPerPixel
        (278, short, 1, 1),  # RowsPerStrip
        (279, long, 1, 6),  # StripByteCounts
    ]
    directory = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    head = b"II" + struct.pack("<HIH", 42, 8, len(entries)) + directory + bytes(4)
    return head + struct.pack("<6H", 16, 16, 16, red, green, blue)


def reason(content: bytes, **options: int) -> str:
    with pytest.raises(ItemUnreadable) as caught:
        decode(content, **options)
    assert "0x" not in caught.value.message
    return caught.value.row_reason


def outcome(content: bytes) -> str:
    """The mode of the image, or the reason why there is none. Any other error is a fault."""
    try:
        return decode(content, max_pixels=1 << 20).image.mode
    except ItemUnreadable as error:
        return error.row_reason


def test_a_truncated_jpeg_is_unreadable_although_open_and_verify_pass() -> None:
    whole = encoded(Image.fromarray(NOISE), "JPEG")
    half = whole[: len(whole) // 2]
    Image.open(io.BytesIO(half)).verify()

    assert reason(half) == IMAGE_UNREADABLE
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "GIF", "TIFF", "BMP", "AVIF"])
def test_other_truncated_formats_are_unreadable(kind: str) -> None:
    whole = encoded(Image.fromarray(NOISE), kind)
    assert reason(whole[: len(whole) // 2]) == IMAGE_UNREADABLE


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP", "AVIF"])
def test_damage_anywhere_gives_an_image_or_one_unreadable_item(kind: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    whole = encoded(Image.fromarray(NOISE), kind, exif=exif)
    generator = np.random.default_rng(5)
    for _ in range(60):
        damaged = np.frombuffer(whole, dtype=np.uint8).copy()
        places = generator.integers(0, min(len(damaged), 800), 4)
        damaged[places] = generator.integers(0, 256, 4)
        assert outcome(damaged.tobytes()) in ("RGB", "L", IMAGE_UNREADABLE, IMAGE_TOO_LARGE)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP", "AVIF"])
def test_known_formats_are_decoded(kind: str) -> None:
    decoded = decode(encoded(Image.fromarray(NOISE), kind))
    assert (decoded.image.mode, decoded.image.size) == ("RGB", (64, 64))
    assert decoded.warnings == ()


@pytest.mark.parametrize(
    "content", [b"", b"this is a text named .jpg\n", b"\xff\xd8\xff", b"%!PS-Adobe"]
)
def test_empty_files_and_other_files_are_unreadable(content: bytes) -> None:
    assert reason(content) == IMAGE_UNREADABLE


def test_a_large_image_gives_no_python_warning() -> None:
    # 89,491,600 pixels: over the size at which Pillow warns. The pixels are missing.
    assert reason(png_header(9460, 9460)) == IMAGE_UNREADABLE


def test_a_decompression_bomb_is_too_large() -> None:
    assert MAX_PIXELS < 13378 * 13378
    assert reason(png_header(13378, 13378)) == IMAGE_TOO_LARGE


def test_the_limit_can_be_lowered() -> None:
    content = encoded(Image.new("RGB", (10, 10)), "PNG")
    assert decode(content, max_pixels=100).image.size == (10, 10)
    with pytest.raises(
        ItemUnreadable, match="10 x 10 = 100 pixels, over the limit of 99"
    ) as caught:
        decode(content, max_pixels=99)
    assert caught.value.row_reason == IMAGE_TOO_LARGE


def test_the_limit_can_be_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", Image.MAX_IMAGE_PIXELS)
    assert reason(png_header(13378, 13378), max_pixels=200_000_000) == IMAGE_UNREADABLE
    assert reason(png_header(13378, 13378)) == IMAGE_TOO_LARGE


def test_pillows_warnings_stay_inside_in_threads_too() -> None:
    def one(_: int) -> str:
        return reason(png_header(9460, 9460))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(one, range(64))) == {IMAGE_UNREADABLE}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
def test_the_image_stands_upright(kind: str) -> None:
    image = Image.new("RGB", (20, 10))
    exif = image.getexif()
    exif[0x0112] = 6
    decoded = decode(encoded(image, kind, exif=exif))
    assert decoded.image.size == (10, 20)
    assert decoded.warnings == ()


def test_unreadable_exif_is_ignored_and_told() -> None:
    content = encoded(Image.new("RGB", (20, 10)), "JPEG", exif=b"Exif\0\0II broken text")
    decoded = decode(content)
    assert decoded.image.size == (20, 10)
    assert decoded.warnings == (EXIF_UNREADABLE,)


def test_an_unreadable_profile_is_ignored_and_told() -> None:
    content = encoded(Image.new("RGB", (2, 2), (9, 8, 7)), "PNG", icc_profile=b"broken")
    decoded = decode(content)
    assert decoded.image.getpixel((0, 0)) == (9, 8, 7)
    assert decoded.warnings == (PROFILE_UNREADABLE,)


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF", "AVIF"])
def test_the_first_frame_is_used_and_told(kind: str) -> None:
    red, green = (Image.new("RGB", (8, 8), colour) for colour in ("red", "lime"))
    options = {} if kind in ("GIF", "PNG", "TIFF") else {"lossless": True, "quality": 100}
    if kind == "AVIF":
        options = {"quality": 100}
    content = encoded(red, kind, save_all=True, append_images=[green], **options)
    decoded = decode(content)
    assert decoded.image.getpixel((4, 4)) == pytest.approx((255, 0, 0), abs=3)
    assert decoded.warnings == (FIRST_FRAME_ONLY,)


def test_the_first_frame_of_a_grey_animation_is_not_lost_by_asking_for_the_second() -> None:
    dark, light = (Image.new("L", (8, 8), value) for value in (40, 200))
    content = encoded(dark, "GIF", save_all=True, append_images=[light])
    decoded = decode(content)
    assert decoded.image.getpixel((4, 4)) in (40, (40, 40, 40))
    assert decoded.warnings == (FIRST_FRAME_ONLY,)
    assert prepare(content, image_input()).pixels.min() == 40


ODD_FILES = {
    "CMYK red": (
        encoded(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG", quality=100),
        (255, 0, 0),
        3,
    ),
    "grey, half transparent": (encoded(Image.new("LA", (2, 2), (0, 128)), "PNG"), (127,) * 3, 0),
    "colour, half transparent": (
        encoded(Image.new("RGBA", (2, 2), (255, 0, 0, 128)), "PNG"),
        (255, 127, 127),
        0,
    ),
    "palette, black transparent": (
        encoded(Image.new("P", (2, 2), 0), "PNG", transparency=0),
        (255, 255, 255),
        0,
    ),
    "white of 1 bit": (encoded(Image.new("1", (9, 9), 1), "PNG"), (255, 255, 255), 0),
    "black of 1 bit": (encoded(Image.new("1", (9, 9), 0), "TIFF"), (0, 0, 0), 0),
    # round(33000 * 255 / 65535) = round(128.4); plain conversion gives 255.
    "grey of 16 bits, PNG": (png(1, 1, 16, 0, b"\0" + struct.pack(">H", 33000)), (128,) * 3, 0),
    "grey of 16 bits, TIFF": (
        encoded(Image.fromarray(np.full((2, 2), 33000, np.uint16)), "TIFF"),
        (128,) * 3,
        0,
    ),
    # Upper bytes: 33000 = 0x80E8, 65535 = 0xFFFF, 255 = 0x00FF.
    "colour of 16 bits, PNG": (
        png(1, 1, 16, 2, b"\0" + struct.pack(">3H", 33000, 65535, 255)),
        (128, 255, 0),
        0,
    ),
    "colour of 16 bits, TIFF": (tiff_of_16_bits(33000, 65535, 255), (128, 255, 0), 0),
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_odd_colour_modes_have_the_pixels_that_one_sees(name: str) -> None:
    """Fault A27: white behind what is transparent, no channel inverted, no bit lost."""
    content, expected, tolerance = ODD_FILES[name]
    prepared = prepare(content, image_input())
    assert prepared.pixels.shape == (8, 6, 3)
    assert np.abs(prepared.pixels.astype(int) - expected).max() <= tolerance
    assert prepared.warnings == ()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_a_picture_held_sideways_is_embedded_upright(kind: str) -> None:
    """Stored with the left half white; orientation 6 turns it by 90 degrees: white on top."""
    stored = Image.new("L", (16, 16))
    stored.paste(255, (0, 0, 8, 16))
    exif = Image.Exif()
    exif[0x0112] = 6
    pixels = prepare(encoded(stored.convert("RGB"), kind, exif=exif), image_input()).pixels
    assert pixels[0].min() > 250
    assert pixels[-1].max() < 5


def test_every_warning_has_words() -> None:
    assert set(WARNINGS) == {EXIF_UNREADABLE, FIRST_FRAME_ONLY, PROFILE_UNREADABLE}


def test_floating_point_pixels_are_unreadable() -> None:
    content = encoded(Image.fromarray(np.ones((2, 2), dtype=np.float32)), "TIFF")
    assert reason(content) == IMAGE_UNREADABLE


def columns(width: int, height: int) -> Image.Image:
    """Red counts columns, green counts rows."""
    y, x = np.mgrid[0:height, 0:width]
    return Image.fromarray(np.dstack([x, y, 0 * x]).astype(np.uint8))


def test_squash_does_not_keep_the_aspect() -> None:
    pixels = preprocess(columns(40, 10), SQUASH, height=5, width=4)
    assert (pixels.shape, pixels.dtype) == ((5, 4, 3), np.uint8)
    # Reduced by 10 with a triangle filter, ends renormalised: symmetric about the middle 19.5.
    assert (pixels[0, 0, 0] + pixels[0, 3, 0]) == pytest.approx(39, abs=1)


def test_squash_to_its_own_size_changes_nothing() -> None:
    image = Image.fromarray(NOISE)
    assert np.array_equal(preprocess(image, SQUASH, 64, 64), NOISE)


@pytest.mark.parametrize(
    ("size", "edge", "crop", "resized", "first"),
    [
        # (width, height), shortest edge, crop -> resized (width, height), first column and row
        ((100, 50), 50, 20, (100, 50), (40, 15)),
        ((50, 100), 50, 20, (50, 100), (15, 40)),
        ((75, 50), 50, 50, (75, 50), (12, 0)),  # (75 - 50) // 2 = 12, not 13
        (
            (53, 50),
            50,
            50,
            (53, 50),
            (1, 0),
        ),  # floor(1.5), as transformers; torchvision rounds to 2
    ],
)
def test_the_centre_is_cropped_at_the_floor(
    size: tuple[int, int], edge: int, crop: int, resized: tuple[int, int], first: tuple[int, int]
) -> None:
    rule = Resize(mode="shortest_edge_crop", filter="nearest", shortest_edge=edge)
    pixels = preprocess(columns(*size), rule, crop, crop)
    assert resized == size  # nothing was scaled, so pixels tell their column and row
    assert pixels.shape == (crop, crop, 3)
    assert tuple(pixels[0, 0, :2]) == first
    assert tuple(pixels[-1, -1, :2]) == (first[0] + crop - 1, first[1] + crop - 1)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((640, 427), (335, 224)),
        ((427, 640), (224, 335)),
        ((333, 1000), (224, 672)),
        ((5, 5), (224, 224)),
    ],
)
def test_the_long_side_is_cut_to_an_integer(
    size: tuple[int, int], expected: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # int(224 * 640 / 427) = int(335.73...), int(224 * 1000 / 333) = int(672.67...)
    asked = []
    plain = Image.Image.resize
    monkeypatch.setattr(
        Image.Image, "resize", lambda self, to, by: asked.append(to) or plain(self, to, by)
    )
    rule = Resize(mode="shortest_edge_crop", filter="bicubic", shortest_edge=224)
    preprocess(Image.new("RGB", size), rule, 224, 224)
    assert asked == [expected]


def test_a_crop_larger_than_the_image_is_padded_with_black() -> None:
    rule = Resize(mode="shortest_edge_crop", filter="nearest", shortest_edge=2)
    pixels = preprocess(Image.new("RGB", (2, 2), "white"), rule, 4, 4)
    assert (pixels[:, :, 0] // 255).tolist() == [[0] * 4, [0, 1, 1, 0], [0, 1, 1, 0], [0] * 4]


@pytest.mark.parametrize("name", ["nearest", "bilinear", "bicubic", "lanczos"])
def test_filters_are_pillows(name: str) -> None:
    image = Image.fromarray(NOISE)
    expected = np.asarray(image.resize((9, 11), Image.Resampling[name.upper()]))
    actual = preprocess(image, Resize(mode="squash", filter=name), 11, 9)
    assert np.array_equal(actual, expected)


def image_input(**presets: Resize) -> ImageInput:
    return ImageInput(
        height=8,
        width=6,
        mean=(127, 127, 127),
        std=(128, 128, 128),
        presets={"lookbench": SQUASH, **presets},
        default_preset="lookbench",
    )


def test_prepare_uses_the_default_preset_unless_told() -> None:
    native = Resize(mode="shortest_edge_crop", filter="bicubic", shortest_edge=8)
    model, content = image_input(native=native), encoded(columns(60, 20), "PNG")
    assert prepare(content, model).pixels.shape == (8, 6, 3)
    assert np.array_equal(
        prepare(content, model).pixels, prepare(content, model, "lookbench").pixels
    )
    assert not np.array_equal(
        prepare(content, model).pixels, prepare(content, model, "native").pixels
    )


def test_an_unknown_preset_lists_the_known() -> None:
    with pytest.raises(ModelContractMismatch, match=r"'fancy' is not .*: lookbench"):
        prepare(b"", image_input(), "fancy")


def test_prepare_passes_warnings_and_the_limit_on() -> None:
    content = encoded(Image.new("RGB", (10, 10)), "PNG", icc_profile=b"broken")
    assert prepare(content, image_input()).warnings == (PROFILE_UNREADABLE,)
    with pytest.raises(ItemUnreadable):
        prepare(content, image_input(), max_pixels=99)


def test_work_and_answers_can_be_pickled() -> None:
    function, model = pickle.loads(pickle.dumps((prepare, image_input())))
    answer = function(encoded(Image.fromarray(NOISE), "PNG"), model)
    assert np.array_equal(pickle.loads(pickle.dumps(answer)).pixels, answer.pixels)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP"])
@pytest.mark.parametrize("rule", ["squash", "crop"])
@pytest.mark.parametrize("filter_name", ["nearest", "bilinear", "bicubic", "lanczos"])
def test_shortcuts_leave_every_pixel_as_it_was(kind: str, rule: str, filter_name: str) -> None:
    """Reference: converted and copied at every step, three bands throughout."""
    resize = Resize(mode="squash", filter=filter_name)
    if rule == "crop":
        resize = Resize(mode="shortest_edge_crop", filter=filter_name, shortest_edge=9)
    model = image_input(tried=resize)
    for picture in (NOISE, NOISE[..., 0]):
        content = encoded(Image.fromarray(picture), kind)
        assert np.array_equal(prepare(content, model, "tried").pixels, plainly(content, resize))


def plainly(content: bytes, resize: Resize, height: int = 8, width: int = 6) -> np.ndarray:
    with Image.open(io.BytesIO(content)) as image:
        rgb = image.convert("RGB").copy()
    resample = Image.Resampling[resize.filter.upper()]
    if resize.shortest_edge is None:
        return np.array(rgb.resize((width, height), resample))
    scale = resize.shortest_edge / min(rgb.size)
    size = [max(resize.shortest_edge, int(side * scale)) for side in rgb.size]
    left, top = (size[0] - width) // 2, (size[1] - height) // 2
    return np.array(rgb.resize(size, resample))[top : top + height, left : left + width]


def test_a_batch_holds_the_pixels_of_each_item_in_order() -> None:
    contents = [encoded(Image.fromarray(NOISE[: 8 * n]), "PNG") for n in (1, 2, 3)]
    batch = prepare_batch(["a", "b", "c"], contents, image_input())
    assert (batch.shape, batch.dtype) == ((3, 8, 6, 3), np.uint8)
    for row, content in zip(batch, contents, strict=True):
        assert np.array_equal(row, prepare(content, image_input()).pixels)


def test_a_batch_names_the_item_that_cannot_be_decoded() -> None:
    with pytest.raises(ItemUnreadable, match="item b: the file has 0 bytes") as caught:
        prepare_batch(["a", "b"], [encoded(Image.fromarray(NOISE), "PNG"), b""], image_input())
    assert caught.value.row_reason == IMAGE_UNREADABLE


def test_a_batch_stops_when_nobody_waits_for_it() -> None:
    asked = iter([False, True])
    contents = [encoded(Image.fromarray(NOISE), "PNG"), b"damaged"]
    prepare_batch(["a", "b"], contents, image_input(), stopped=lambda: next(asked))


def test_a_very_long_image_does_not_grow_beyond_the_pixel_limit_on_its_way():
    """1 x 4,000 resized to a shorter side of 256 would be 256 x 1,024,000."""
    crop = Resize(mode="shortest_edge_crop", filter="bicubic", shortest_edge=256)
    with pytest.raises(ItemUnreadable, match="262144000") as caught:
        preprocess(Image.new("RGB", (1, 4000)), crop, 224, 224)
    assert caught.value.row_reason == IMAGE_TOO_LARGE
    assert preprocess(Image.new("RGB", (1, 4000)), SQUASH, 224, 224).shape == (224, 224, 3)
