import hashlib
import io

import numpy as np
import pytest
from PIL import Image

from lookbench_evaluator.benchmarks.png import grey_png


@pytest.mark.parametrize(("height", "width"), [(28, 28), (1, 1), (3, 5), (300, 400)])
def test_pillow_reads_the_same_pixels_back(height: int, width: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (height, width), dtype=np.uint8)
    image = Image.open(io.BytesIO(grey_png(pixels.tobytes(), height, width)))
    assert image.mode == "L"
    assert np.array_equal(np.asarray(image), pixels)


def test_the_bytes_never_change() -> None:
    # Benchmark digests stand on these bytes: pinned, whatever Pillow or zlib is installed.
    content = grey_png(bytes(range(256)) * 3 + bytes(16), 28, 28)
    assert len(content) == 880
    assert hashlib.sha256(content).hexdigest()[:16] == "0fae687c820d7c8e"
