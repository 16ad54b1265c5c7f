"""The formats that can be imported, and their options."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookbench_evaluator.benchmarks.beir import read_beir
from lookbench_evaluator.benchmarks.fashion_mnist import read_fashion_mnist
from lookbench_evaluator.benchmarks.image_folder import read_image_folder
from lookbench_evaluator.benchmarks.lookbench_release import read_lookbench
from lookbench_evaluator.benchmarks.source import Source
from lookbench_evaluator.errors import InvalidField


@dataclass(frozen=True)
class Option:
    """One option of a reader; its type is that of `default`."""

    name: str
    default: int | str
    help: str

    def parse(self, text: str) -> int | str:
        """The value of `text`. Raises InvalidField."""
        if isinstance(self.default, str):
            return text.strip()
        try:
            return int(text)
        except ValueError:
            raise InvalidField(f"options.{self.name}", f"{text!r} is not a whole number") from None


@dataclass(frozen=True)
class Reader:
    """One format. `read` takes the folder and every option by name."""

    format: str
    help: str
    read: Callable[..., Source]
    options: tuple[Option, ...]

    def parse(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Every option with its value. Raises InvalidField listing the known ones."""
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                raise InvalidField(
                    f"options.{name}", f"is not an option of {self.format}: {', '.join(known)}"
                )
        return {
            name: option.parse(given[name]) if name in given else option.default
            for name, option in known.items()
        }


READERS: Mapping[str, Reader] = {
    reader.format: reader
    for reader in (
        Reader(
            "fashion-mnist",
            "Fashion-MNIST as IDX files, gzip-compressed or plain",
            read_fashion_mnist,
            (
                Option("queries", 500, "test images that are queries, the first of the file"),
                Option("items", 4000, "training images that are items, the first of the file"),
            ),
        ),
        Reader(
            "image-folder",
            "a folder of images with a CSV file of ids, paths, splits and labels",
            read_image_folder,
            (
                Option("csv", "labels.csv", "the table, relative to the folder"),
                Option(
                    "judgements",
                    "",
                    "labels that make an item relevant: `category,category+colour`; "
                    "the first is the headline; empty = each label alone",
                ),
            ),
        ),
        Reader(
            "lookbench",
            "the LookBench release: parquet files a subset and a noise gallery",
            read_lookbench,
            (
                Option("version", "", "version directory, as v20251201; empty = the newest"),
                Option("subsets", "", "comma-separated; empty = all"),
            ),
        ),
        Reader(
            "beir",
            "BEIR: corpus.jsonl, queries.jsonl, qrels/<split>.tsv",
            read_beir,
            (Option("split", "test", "name of the qrels file"),),
        ),
    )
}


def open_source(source_format: str, folder: Path, options: Mapping[str, str]) -> Source:
    """The source in `folder`, checked as far as possible without reading its rows.

    Raises InvalidField for an unknown format or option, and what the reader
    raises: SourceNotFound, PathOutsideRoot, BenchmarkInvalid.
    """
    reader = READERS.get(source_format)
    if reader is None:
        raise InvalidField("format", f"{source_format!r} is none of {', '.join(READERS)}")
    return reader.read(folder, **reader.parse(options))
