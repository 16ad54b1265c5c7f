import gzip
import io
import struct

import numpy as np
import pytest
from PIL import Image

from lookbench_exporter.errors import SourceInvalid, SourceNotFound
from lookbench_exporter.sample_images import default_images, images_from_folder


def test_generated_pictures_are_the_same_every_time_and_differ_from_each_other():
    first, second = default_images([]), default_images([])
    assert first == second
    assert len(set(first.contents)) == len(first.names) == 8
    assert first.description == "8 generated pictures"


def test_generated_pictures_have_colour_detail_and_unequal_sides():
    for content in default_images([]).contents:
        image = Image.open(io.BytesIO(content))
        pixels = np.asarray(image, dtype=np.float64)
        assert image.mode == "RGB"
        assert image.width != image.height
        assert np.ptp(pixels.mean(axis=(0, 1))) > 1
        assert pixels.std() > 10


def write_idx(path, count):
    pixels = np.arange(count * 784, dtype=np.uint32).astype(np.uint8)
    with gzip.open(path, "wb") as file:
        file.write(struct.pack(">4i", 2051, count, 28, 28) + pixels.tobytes())
    return pixels.reshape(count, 28, 28)


def test_real_photos_come_first_where_they_are_installed(tmp_path):
    pixels = write_idx(tmp_path / "t10k-images-idx3-ubyte.gz", 9)
    images = default_images([tmp_path / "absent", tmp_path])
    assert images.description == "8 Fashion-MNIST test images, 8 generated pictures"
    assert len(images.names) == len(images.contents) == 16
    first = np.asarray(Image.open(io.BytesIO(images.contents[0])))
    assert (first == pixels[0]).all()


def test_a_data_set_that_ends_early_is_named(tmp_path):
    write_idx(tmp_path / "t10k-images-idx3-ubyte.gz", 3)
    with pytest.raises(SourceInvalid, match="ends early"):
        default_images([tmp_path])


def test_a_folder_gives_its_images_by_name(tmp_path):
    for row in range(9, -1, -1):
        Image.new("RGB", (2, 2), (row, 0, 0)).save(tmp_path / f"{row}.png")
    (tmp_path / "notes.txt").write_text("no image")
    images = images_from_folder(tmp_path)
    assert images.names == tuple(f"{row}.png" for row in range(10))
    assert images.contents[3] == (tmp_path / "3.png").read_bytes()


def test_a_folder_with_few_images_is_refused(tmp_path):
    Image.new("RGB", (2, 2)).save(tmp_path / "one.png")
    with pytest.raises(SourceInvalid, match=r"holds 1 images .* at least 8"):
        images_from_folder(tmp_path)
    with pytest.raises(SourceNotFound):
        images_from_folder(tmp_path / "absent")
