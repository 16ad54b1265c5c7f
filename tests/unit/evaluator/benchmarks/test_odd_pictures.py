"""Odd and damaged pictures through whole imports: kept or rejected, the same from every format."""

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lookbench_evaluator.benchmarks.opened import StoredBenchmark

SIZE = (40, 30)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def photo(mode: str = "RGB") -> Image.Image:
    pixels = np.random.default_rng(5).integers(0, 256, (SIZE[1], SIZE[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels).convert(mode)


def turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(photo(), "JPEG", exif=exif)


def palette_with_alpha() -> bytes:
    image = photo().quantize(8)
    return encoded(image, "PNG", transparency=bytes([0, 128, *[255] * 6]))


def animation() -> bytes:
    frames = [Image.new("RGB", SIZE, colour) for colour in ("red", "green")]
    return encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *more: bytes) -> bytes:
    """A PNG of that size by its header, whose pixels are not there."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    data = chunk(b"IDAT", zlib.compress(bytes(64)))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(more) + data + chunk(b"IEND", b"")


def text_bomb() -> bytes:
    """A comment that is 100 MB when it is unpacked."""
    return png(4, 4, chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(100 << 20), 9)))


KEPT = {
    "cmyk": lambda: encoded(photo("CMYK"), "JPEG"),
    "grey": lambda: encoded(photo("L"), "PNG"),
    "sixteen-bit": lambda: encoded(Image.new("I;16", SIZE, 40000), "PNG"),
    "palette-with-alpha": palette_with_alpha,
    "transparent": lambda: encoded(photo("RGBA"), "PNG"),
    "animated": animation,
    "turned-by-exif": turned,
}
REJECTED = {
    "truncated": (lambda: encoded(photo(), "JPEG")[:-400], "IMAGE_UNREADABLE"),
    "zero-bytes": (lambda: b"", "IMAGE_UNREADABLE"),
    "text": (lambda: b"this is not a picture\n" * 9, "IMAGE_UNREADABLE"),
    "pixel-bomb": (lambda: png(13_378, 13_378), "IMAGE_TOO_LARGE"),
    "text-bomb": (text_bomb, "IMAGE_UNREADABLE"),
    "floating-point": (
        lambda: encoded(Image.new("F", SIZE, 0.5), "TIFF"),
        "IMAGE_UNREADABLE",
    ),
}


@pytest.fixture
def pictures() -> dict[str, bytes]:
    """One of each, by name: the good, then the bad."""
    made = {name: make() for name, make in KEPT.items()}
    return made | {name: make() for name, (make, _) in REJECTED.items()}


def from_folder(pictures: dict[str, bytes], folder: Path) -> list[str]:
    """A folder of files that all claim to be JPEG; the ids of its items."""
    lines = ["id,path,split,kind", "q,grey.jpg,query,x"]
    for name, content in pictures.items():
        (folder / f"{name}.jpg").write_bytes(content)
        lines.append(f"{name},{name}.jpg,item,x")
    (folder / "labels.csv").write_text("\n".join(lines))
    return list(pictures)


@pytest.fixture(params=["image-folder", "bytes in parquet", "paths in parquet"])
def imported_pictures(
    request: pytest.FixtureRequest,
    pictures: dict[str, bytes],
    tmp_path: Path,
    imported: Callable[..., StoredBenchmark],
    write_release: Callable[..., Path],
    make_release_rows: Callable[..., object],
) -> tuple[StoredBenchmark, str, list[str]]:
    """The benchmark, the name of its items, and the id of each picture in order."""
    if request.param == "image-folder":
        folder = tmp_path / "pictures"
        folder.mkdir()
        ids = from_folder(pictures, folder)
        return imported("image-folder", folder), "items", ids
    cells: list[object] = [{"bytes": data, "path": None} for data in pictures.values()]
    if request.param == "paths in parquet":
        cells = [{"bytes": None, "path": f"{name}.jpg"} for name in pictures]
    query = make_release_rows([{"bytes": pictures["grey"], "path": None}])
    root = write_release({"s/query": query, "s/gallery": make_release_rows(cells)})
    for name, data in pictures.items():
        (root / "v20251201/s" / f"{name}.jpg").write_bytes(data)
    ids = [f"s/g/{n:06d}" for n in range(len(pictures))]
    return imported("lookbench", root), "s-items", ids


def test_odd_pictures_are_kept_and_damaged_ones_rejected_with_their_reason(
    imported_pictures: tuple[StoredBenchmark, str, list[str]],
) -> None:
    """Faults A26 and A27: one bad file stops nothing, and none goes without a word."""
    stored, items, ids = imported_pictures
    assert stored.collection(items).ids == ids[: len(KEPT)]
    rejected = {row.id: row.reason for row in stored.rejected()}
    assert list(rejected) == ids[len(KEPT) :]
    assert list(rejected.values()) == [reason for _, reason in REJECTED.values()]
    (counts,) = [c for c in stored.manifest.collections if c.name == items]
    assert counts.rows_in == counts.rows_out + counts.rows_rejected == len(ids)
    assert "1 images: several frames, first one used" in stored.manifest.notes


def test_what_is_kept_are_the_bytes_as_they_were(
    imported_pictures: tuple[StoredBenchmark, str, list[str]], pictures: dict[str, bytes]
) -> None:
    stored, items, _ = imported_pictures
    contents = [content for _, batch in stored.contents(items) for content in batch]
    assert contents == [pictures[name] for name in KEPT]
