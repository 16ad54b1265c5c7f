"""Real pictures for measurements: photographs as they are and enlarged, Fashion-MNIST."""

import io
import os
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
from PIL import Image

from lookbench_core.manifest import ImageInput, Resize
from lookbench_evaluator.benchmarks.fashion_mnist import read_fashion_mnist

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("LOOKBENCH_SHARED_DATA") or ROOT.parent / "shared" / "data")
FASHION_MNIST = [
    Path("/usr/share/datasets/fashion-mnist"),
    ROOT / ".lookbench/data/fashion-mnist",
]
LARGE_EDGE, LARGE_QUALITY = 1024, 90

INPUT = ImageInput(
    height=224,
    width=224,
    mean=(127, 127, 127),
    std=(128, 128, 128),
    presets={
        "lookbench": Resize(mode="squash", filter="bilinear"),
        "native": Resize(mode="shortest_edge_crop", filter="bicubic", shortest_edge=256),
    },
    default_preset="lookbench",
)
"""That of the demonstration model."""


@cache
def photographs() -> list[bytes]:
    """All studio and street JPEGs, about 200 pixels high."""
    files = sorted(SHARED.glob("*/v*/*/*.parquet"))
    return [
        cell["bytes"] if isinstance(cell, dict) else cell
        for file in files
        for cell in pq.read_table(file, columns=["image"]).column(0).to_pylist()
    ]


def large_photographs(count: int) -> list[bytes]:
    """Some of them enlarged until the shorter side has LARGE_EDGE pixels."""
    whole = photographs()
    return [_enlarged(content) for content in whole[:: len(whole) // count][:count]]


def fashion_mnist(count: int) -> list[bytes]:
    """Grey PNGs of 28 x 28 pixels, as an import stores them."""
    folder = next(folder for folder in FASHION_MNIST if folder.is_dir())
    source = read_fashion_mnist(folder, queries=1, items=count)
    items = next(part for part in source.collections if part.name == "items")
    return [row.content for row in items.rows()]


def _enlarged(content: bytes) -> bytes:
    with Image.open(io.BytesIO(content)) as image:
        scale = LARGE_EDGE / min(image.size)
        size = tuple(round(side * scale) for side in image.size)
        file = io.BytesIO()
        image.resize(size, Image.Resampling.BICUBIC).save(file, "JPEG", quality=LARGE_QUALITY)
    return file.getvalue()
