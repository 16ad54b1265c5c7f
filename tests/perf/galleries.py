"""Image folders made for measurements, the same every time."""

import numpy as np
from PIL import Image

CATEGORIES = 10


def write(folder, count, size, suffix, queries=10, **options):
    """`count` items and some queries: smooth random pictures of `size` x `size` pixels."""
    folder.mkdir()
    rng = np.random.default_rng(20251201)
    lines = ["id,path,split,category"]
    for number in range(count + queries):
        coarse = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
        image = Image.fromarray(coarse).resize((size, size), Image.Resampling.BICUBIC)
        name = f"i{number:05d}.{suffix}"
        image.save(folder / name, **options)
        split = "query" if number < queries else "item"
        lines.append(f"i{number:05d},{name},{split},c{number % CATEGORIES}")
    (folder / "labels.csv").write_text("\n".join(lines))
