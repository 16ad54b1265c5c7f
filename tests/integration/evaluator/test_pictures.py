"""Real photographs give the pixels of the plain way: nothing that was made quicker shows."""

import io

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from lookbench_core.manifest import Resize
from lookbench_inference.images import decode, preprocess

SIDE = 224


@pytest.fixture(scope="module")
def photographs(shared_data):
    files = sorted(shared_data.glob("*/v*/*/*.parquet"))
    columns = [pq.read_table(file, columns=["image"]).column(0).to_pylist() for file in files]
    return [
        cell["bytes"] if isinstance(cell, dict) else cell for cells in columns for cell in cells
    ]


def squashed(content):
    with Image.open(io.BytesIO(content)) as image:
        resized = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return np.array(resized)


def cropped(content):
    with Image.open(io.BytesIO(content)) as image:
        width, height = image.size
        short = min(width, height)
        size = (int(256 * width / short), int(256 * height / short))
        resized = image.convert("RGB").resize(size, Image.Resampling.BICUBIC)
    left, top = (size[0] - SIDE) // 2, (size[1] - SIDE) // 2
    return np.array(resized.crop((left, top, left + SIDE, top + SIDE)))


PRESETS = {
    "squash": (Resize(mode="squash", filter="bilinear"), squashed),
    "crop": (Resize(mode="shortest_edge_crop", filter="bicubic", shortest_edge=256), cropped),
}


@pytest.mark.parametrize("preset", PRESETS)
def test_every_photograph_has_the_pixels_of_the_plain_way(photographs, preset):
    assert len(photographs) > 1000
    resize, plain = PRESETS[preset]
    for content in photographs:
        pixels = preprocess(decode(content).image, resize, SIDE, SIDE)
        assert np.array_equal(pixels, plain(content))
