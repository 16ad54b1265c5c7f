import gzip
import io
import os
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from lookbench_evaluator.benchmarks.importer import import_benchmark
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.benchmarks.readers import open_source

ROOT = Path(__file__).parents[4]
FASHION_MNIST = (
    Path(os.environ.get("LOOKBENCH_FASHION_MNIST", "/usr/share/datasets/fashion-mnist")),
    ROOT / ".lookbench/data/fashion-mnist",
)


def picture(seed: int, kind: str = "PNG") -> bytes:
    """A small image, another one for every seed."""
    pixels = np.random.default_rng(seed).integers(0, 256, (6, 5, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


@pytest.fixture
def make_picture() -> Callable[..., bytes]:
    return picture


@pytest.fixture(scope="session")
def shared_data() -> Path:
    folder = Path(os.environ.get("LOOKBENCH_SHARED_DATA", ROOT.parent / "shared/data"))
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set LOOKBENCH_SHARED_DATA")
    return folder


@pytest.fixture(scope="session")
def fashion_mnist() -> Path:
    for folder in FASHION_MNIST:
        if (folder / "t10k-images-idx3-ubyte.gz").is_file():
            return folder
    pytest.skip("no Fashion-MNIST: install dataset-fashion-mnist, or set LOOKBENCH_FASHION_MNIST")


@pytest.fixture
def idx_folder(tmp_path: Path) -> Path:
    """Three test and five training images of 4 x 3 pixels, test files compressed."""
    folder = tmp_path / "idx"
    folder.mkdir()
    for prefix, count, opened in (("t10k", 3, gzip.open), ("train", 5, open)):
        end = ".gz" if opened is gzip.open else ""
        pixels = bytes(n % 256 for n in range(count * 12))
        with opened(folder / f"{prefix}-images-idx3-ubyte{end}", "wb") as file:
            file.write(struct.pack(">HBBIII", 0, 8, 3, count, 4, 3) + pixels)
        with opened(folder / f"{prefix}-labels-idx1-ubyte{end}", "wb") as file:
            file.write(struct.pack(">HBBI", 0, 8, 1, count) + bytes(range(count)))
    return folder


@pytest.fixture
def image_folder(tmp_path: Path) -> Callable[[str], Path]:
    """Makes a folder of a.png … f.png with the given labels.csv."""

    def make(table: str | bytes) -> Path:
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        for seed, name in enumerate("abcdef"):
            (folder / f"{name}.png").write_bytes(picture(seed))
        data = table if isinstance(table, bytes) else table.encode()
        (folder / "labels.csv").write_bytes(data)
        return folder

    return make


def release_rows(images: Sequence[object], **columns: object) -> pa.Table:
    """A table in the layout of the release; a column is given whole or as one value."""
    count = len(images)
    values: dict[str, object] = {
        "category": "dress",
        "main_attribute": "red",
        "other_attributes": "silk, long",
        "item_ID": [str(n) for n in range(count)],
    }
    values.update(columns)
    filled = {k: v if isinstance(v, list | pa.Array) else [v] * count for k, v in values.items()}
    return pa.table({"image": images, **filled})


@pytest.fixture
def write_release(tmp_path: Path) -> Callable[..., Path]:
    """Writes tables below release/v20251201, keyed by `<subset>/<file>`."""

    def write(tables: dict[str, pa.Table], version: str = "v20251201") -> Path:
        root = tmp_path / "release"
        for name, table in tables.items():
            path = root / version / f"{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, path)
        return root

    return write


@pytest.fixture
def make_release_rows() -> Callable[..., pa.Table]:
    return release_rows


@pytest.fixture
def beir_folder(tmp_path: Path) -> Callable[..., Path]:
    """Writes a BEIR folder from the text of its files."""

    def make(corpus: str, queries: str, qrels: str, split: str = "test") -> Path:
        folder = tmp_path / "beir"
        (folder / "qrels").mkdir(parents=True, exist_ok=True)
        (folder / "corpus.jsonl").write_text(corpus, encoding="utf-8")
        (folder / "queries.jsonl").write_text(queries, encoding="utf-8")
        (folder / "qrels" / f"{split}.tsv").write_text(qrels, encoding="utf-8")
        return folder

    return make


@pytest.fixture
def imported(tmp_path: Path) -> Callable[..., StoredBenchmark]:
    """Imports a folder and opens the result."""

    def run(
        source_format: str, folder: Path, name: str = "imported", workers: int = 2, **options: str
    ) -> StoredBenchmark:
        source = open_source(source_format, folder, options)
        import_benchmark(source, name, tmp_path / "store" / name, workers=workers)
        return StoredBenchmark.open(tmp_path / "store" / name)

    return run
