"""Fashion-MNIST: 28 x 28 grey product photos of ten classes, as IDX files.

Queries are the first rows of the test files (`t10k`), items the first rows of
the training files, both in file order, so that a larger selection contains every
smaller one. Files are named as in the official download, compressed or not.
Source: Xiao, Rasul, Vollgraf, arXiv 1708.07747.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lookbench_core.benchmark import Judgement, SourceInfo, Subset
from lookbench_evaluator.benchmarks.files import first_file, require_folder
from lookbench_evaluator.benchmarks.idx import IdxFile
from lookbench_evaluator.benchmarks.png import grey_png
from lookbench_evaluator.benchmarks.source import (
    LABEL_INVALID,
    LABEL_METRICS,
    CollectionSource,
    Rejected,
    Row,
    Source,
)
from lookbench_evaluator.errors import BenchmarkInvalid, InvalidField

CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)


@dataclass(frozen=True)
class _Part:
    """Images and labels of `t10k` or `train`."""

    prefix: str
    images: IdxFile
    labels: IdxFile

    @classmethod
    def open(cls, folder: Path, prefix: str) -> "_Part":
        images = IdxFile.open(_find(folder, f"{prefix}-images-idx3-ubyte"), 3)
        labels = IdxFile.open(_find(folder, f"{prefix}-labels-idx1-ubyte"), 1)
        if images.shape[0] != labels.shape[0]:
            raise BenchmarkInvalid(
                f"{images.path} has {images.shape[0]} images, {labels.path} has "
                f"{labels.shape[0]} labels; fetch both again",
                images=images.path,
                labels=labels.path,
            )
        return cls(prefix, images, labels)

    def rows(self, count: int) -> Iterator[Row | Rejected]:
        _, height, width = self.images.shape
        pairs = zip(self.images.records(count), self.labels.records(count), strict=True)
        for index, (pixels, (label,)) in enumerate(pairs):
            row_id = f"{self.prefix}-{index:05d}"
            if label >= len(CLASSES):
                yield Rejected(index, row_id, LABEL_INVALID, f"label {label} is not one of 0 to 9")
            else:
                content = grey_png(pixels, height, width)
                yield Row(index, row_id, content, {"class": CLASSES[label]})


def read_fashion_mnist(folder: Path, *, queries: int, items: int) -> Source:
    """`queries` test images that search `items` training images; relevant = same class.

    Raises SourceNotFound, BenchmarkInvalid for a damaged file, InvalidField for
    more rows than there are.
    """
    require_folder(folder)
    test, train = _Part.open(folder, "t10k"), _Part.open(folder, "train")
    _check_count("queries", queries, test)
    _check_count("items", items, train)
    return Source(
        info=SourceInfo(
            format="fashion-mnist",
            path=str(folder),
            options={"queries": str(queries), "items": str(items)},
        ),
        title=f"Fashion-MNIST, {queries} queries, {items} items",
        subsets=(Subset(name="all", queries="queries", galleries=("items",)),),
        judgements=(
            Judgement(
                name="class",
                description="query and item are of the same class",
                kind="equal",
                labels=("class",),
            ),
        ),
        headline="class",
        default_metrics=LABEL_METRICS,
        collections=(
            CollectionSource("queries", "query", "image", ("class",), lambda: test.rows(queries)),
            CollectionSource("items", "item", "image", ("class",), lambda: train.rows(items)),
        ),
    )


def _find(folder: Path, name: str) -> Path:
    return first_file(folder, f"{name}.gz", name)


def _check_count(option: str, count: int, part: _Part) -> None:
    available = part.images.shape[0]
    if not 1 <= count <= available:
        raise InvalidField(
            f"options.{option}",
            f"{count} is not between 1 and the {available} images of {part.images.path.name}",
            available=available,
        )
