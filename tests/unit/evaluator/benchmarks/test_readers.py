from pathlib import Path

import pytest

from lookbench_evaluator.benchmarks.readers import READERS, open_source
from lookbench_evaluator.errors import InvalidField

DOCS = Path(__file__).parents[4] / "docs/benchmarks.md"


def test_an_unknown_format_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidField, match="format: 'coco' is none of fashion-mnist, image-folder, lookbench, beir"
    ):
        open_source("coco", tmp_path, {})


def test_an_unknown_option_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidField, match=r"options\.query: is not an option of fashion-mnist: queries, items"
    ):
        open_source("fashion-mnist", tmp_path, {"query": "5"})


def test_a_number_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidField, match=r"options\.items: 'many' is not a whole number"):
        open_source("fashion-mnist", tmp_path, {"items": "many"})


def test_options_get_their_types_and_defaults(idx_folder: Path) -> None:
    source = open_source("fashion-mnist", idx_folder, {"queries": " 2", "items": "3"})
    assert source.info.options == {"queries": "2", "items": "3"}
    assert READERS["fashion-mnist"].parse({}) == {"queries": 500, "items": 4000}


def test_the_docs_list_every_format_and_option() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for reader in READERS.values():
        assert f"### `{reader.format}`" in text
        for option in reader.options:
            default = f"`{option.default}`" if option.default != "" else "empty"
            assert f"| `{option.name}` | {default} |" in text
