import gzip
import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lookbench_evaluator.benchmarks.fashion_mnist import read_fashion_mnist
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.benchmarks.source import Rejected, Row
from lookbench_evaluator.errors import BenchmarkInvalid, InvalidField, SourceNotFound


def test_queries_are_the_first_test_images_and_items_the_first_training_images(
    idx_folder: Path,
) -> None:
    source = read_fashion_mnist(idx_folder, queries=2, items=4)
    queries, items = ([*part.rows()] for part in source.collections)
    assert [row.id for row in queries] == ["t10k-00000", "t10k-00001"]
    assert [row.id for row in items] == [f"train-0000{n}" for n in range(4)]
    assert [row.labels["class"] for row in items] == ["T-shirt/top", "Trouser", "Pullover", "Dress"]
    assert source.info.options == {"queries": "2", "items": "4"}


def test_pixels_are_kept_exactly(idx_folder: Path) -> None:
    row = list(read_fashion_mnist(idx_folder, queries=3, items=1).collections[0].rows())[1]
    assert isinstance(row, Row)
    pixels = np.asarray(Image.open(io.BytesIO(row.content)))
    assert pixels.tolist() == np.arange(12, 24).reshape(4, 3).tolist()


def test_a_label_beyond_nine_rejects_its_row(idx_folder: Path) -> None:
    path = idx_folder / "train-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1] + b"\x0a")
    rows = list(read_fashion_mnist(idx_folder, queries=1, items=5).collections[1].rows())
    assert rows[4] == Rejected(4, "train-00004", "LABEL_INVALID", "label 10 is not one of 0 to 9")


@pytest.mark.parametrize(("queries", "items"), [(0, 1), (4, 1), (1, 6), (1, -1)])
def test_a_size_that_the_files_do_not_have_is_refused(
    idx_folder: Path, queries: int, items: int
) -> None:
    with pytest.raises(InvalidField, match=r"options\.(queries|items): .*between 1 and the [35]"):
        read_fashion_mnist(idx_folder, queries=queries, items=items)


def test_files_of_different_lengths_are_refused(idx_folder: Path) -> None:
    labels = idx_folder / "t10k-labels-idx1-ubyte.gz"
    with gzip.open(labels, "wb") as file:
        file.write(bytes([0, 0, 8, 1, 0, 0, 0, 2, 0, 1]))
    with pytest.raises(BenchmarkInvalid, match=r"has 3 images, .* has 2 labels"):
        read_fashion_mnist(idx_folder, queries=1, items=1)


def test_a_missing_file_or_folder_is_named(idx_folder: Path, tmp_path: Path) -> None:
    (idx_folder / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(SourceNotFound, match=r"no file train-labels-idx1-ubyte\.gz or train-lab"):
        read_fashion_mnist(idx_folder, queries=1, items=1)
    with pytest.raises(SourceNotFound, match="is not a folder"):
        read_fashion_mnist(tmp_path / "absent", queries=1, items=1)


def test_the_real_files_give_balanced_classes_and_known_labels(
    fashion_mnist: Path, imported: Callable[..., StoredBenchmark]
) -> None:
    stored = imported("fashion-mnist", fashion_mnist)
    queries, items = stored.collection("queries"), stored.collection("items")
    assert (len(queries), len(items)) == (500, 4000)
    # The first labels of the official files: t10k 9 2 1 1 6, train 9 0 0 3 0.
    assert queries.labels["class"][:5].tolist() == [
        "Ankle boot", "Pullover", "Trouser", "Trouser", "Shirt",
    ]  # fmt: skip
    assert items.labels["class"][:3].tolist() == ["Ankle boot", "T-shirt/top", "T-shirt/top"]
    counts = Counter(items.labels["class"])
    assert len(counts) == 10
    assert min(counts.values()) >= 350
    assert stored.rejected() == []


def test_the_real_digest_is_the_same_everywhere(
    fashion_mnist: Path, imported: Callable[..., StoredBenchmark]
) -> None:
    stored = imported("fashion-mnist", fashion_mnist, workers=1)
    # Pinned: whoever imports the official files with the default sizes measures the same.
    assert stored.manifest.digest == (
        "sha256:7843bd2c61c42a270fcf5d5ef2c8f27ffdcadd04970de1983e3c88c8f96563de"
    )
