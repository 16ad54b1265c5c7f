"""The LookBench release: parquet files a subset, with a noise gallery for all.

    <root>/v20251201/<subset>/query*.parquet
    <root>/v20251201/<subset>/gallery*.parquet
    <root>/v20251201/noise/*.parquet

`image` is already the crop of `raw_image`. `item_ID` repeats by design (a query
and its products share it), so it is a label; ids are made from the position of
the row: `<subset>/q/000000`, `<subset>/g/000000`, `noise/000000`.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from lookbench_core.benchmark import Judgement, SourceInfo, Subset
from lookbench_evaluator.benchmarks.files import require_folder
from lookbench_evaluator.benchmarks.image_cell import read_cell
from lookbench_evaluator.benchmarks.parquet_table import Kind, ParquetTable
from lookbench_evaluator.benchmarks.source import CollectionSource, Rejected, Row, Side, Source
from lookbench_evaluator.errors import InvalidField, SourceNotFound
from lookbench_inference.errors import ItemUnreadable

LABELS = ("item_id", "category", "main_attribute", "other_attributes")
NOISE = "noise"
NOISE_CATEGORY = "noise data"
RELEASED = ("real_studio_flat", "aigen_studio", "real_streetlook", "aigen_streetlook")

_COLUMNS: dict[str, Kind] = {
    "image": "image",
    "item_ID": "id",
    "category": "text",
    "main_attribute": "text",
    "other_attributes": "text",
}
_RAW = "raw_image"
_VERSION = re.compile(r"v(\d{4})(\d{2})(\d{2})")
_SUBSET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")

JUDGEMENTS = (
    Judgement(
        name="category_main",
        description="query and item have the same category and main attribute (fine)",
        kind="equal",
        labels=("category", "main_attribute"),
    ),
    Judgement(
        name="category",
        description="query and item have the same category (coarse)",
        kind="equal",
        labels=("category",),
    ),
    Judgement(
        name="item",
        description="query and item show the same product (item_ID)",
        kind="equal",
        labels=("item_id",),
    ),
)

NOTES = (
    "labels are compared after stripping blanks and lower-casing",
    f"rows of category {NOISE_CATEGORY!r} have no labels, so that they match no query",
    "queries of one photo (raw_image) form a group; without raw_image, those of one item_ID",
)


@dataclass(frozen=True)
class _Release:
    """One version directory."""

    root: Path
    folder: Path

    def table(self, subset: str, pattern: str) -> ParquetTable:
        files = sorted((self.folder / subset).glob(pattern))
        if not files:
            raise SourceNotFound(
                f"{self.folder / subset} has no file {pattern}", folder=self.folder / subset
            )
        return ParquetTable.open(files, _COLUMNS)

    def collection(
        self, name: str, side: Side, prefix: str, table: ParquetTable
    ) -> CollectionSource:
        grouped = side == "query"
        return CollectionSource(
            name=name,
            side="query" if grouped else "item",
            modality="image",
            labels=LABELS,
            rows=partial(_rows, self.root, prefix, table, grouped),
        )

    def subset(self, name: str) -> tuple[CollectionSource, CollectionSource]:
        queries, items = self.table(name, "query*.parquet"), self.table(name, "gallery*.parquet")
        return (
            self.collection(f"{name}-queries", "query", f"{name}/q", queries),
            self.collection(f"{name}-items", "item", f"{name}/g", items),
        )

    def noise(self) -> list[CollectionSource]:
        if not (self.folder / NOISE).is_dir():
            return []
        return [self.collection(NOISE, "item", NOISE, self.table(NOISE, "*.parquet"))]


def read_lookbench(root: Path, *, version: str, subsets: str) -> Source:
    """The release in `root`, which holds version directories or is one.

    `version` empty = the newest; `subsets` comma-separated, empty = all.
    Raises SourceNotFound, BenchmarkInvalid, InvalidField.
    """
    folder = _version_folder(require_folder(root), version)
    names = _chosen(folder, subsets)
    release = _Release(root, folder)
    collections = [collection for name in names for collection in release.subset(name)]
    noise = release.noise()
    return Source(
        info=SourceInfo(
            format="lookbench",
            path=str(root),
            options={"version": folder.name, "subsets": ",".join(names)},
        ),
        title=f"LookBench {folder.name}: {', '.join(names)}",
        subsets=[_subset(name, bool(noise)) for name in names],
        judgements=JUDGEMENTS,
        headline="category_main",
        default_metrics=("hit", "mrr", "ndcg_binary", "map_capped"),
        collections=collections + noise,
        release_date=_release_date(folder.name),
        notes=lambda: NOTES if noise else (*NOTES, "the source has no noise gallery"),
    )


def _subset(name: str, noise: bool) -> Subset:
    return Subset(
        name=name,
        queries=f"{name}-queries",
        galleries=(f"{name}-items",),
        noise=(NOISE,) if noise else (),
    )


def _version_folder(root: Path, version: str) -> Path:
    versions = sorted(p.name for p in root.iterdir() if p.is_dir() and _VERSION.fullmatch(p.name))
    if not versions:
        if version not in ("", root.name):
            raise InvalidField("options.version", f"{root} has no version directories")
        return root
    if version and version not in versions:
        known = ", ".join(versions)
        raise InvalidField("options.version", f"{version!r} is not in {root}; it has: {known}")
    return root / (version or versions[-1])


def _chosen(folder: Path, option: str) -> list[str]:
    known = _subset_names(folder)
    if not known:
        raise SourceNotFound(
            f"{folder} has no subset: a folder with query*.parquet and gallery*.parquet",
            folder=folder,
        )
    names = [name.strip() for name in option.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise InvalidField(
                "options.subsets", f"{name!r} is not in {folder}; it has: {', '.join(known)}"
            )
    return [name for name in known if not names or name in names]


def _subset_names(folder: Path) -> list[str]:
    """Released subsets in the order of the paper, others after them by name."""
    names = sorted(path.parent.name for path in folder.glob("*/query*.parquet"))
    names = [
        name for name in dict.fromkeys(names) if name != NOISE and _SUBSET_NAME.fullmatch(name)
    ]
    return sorted(names, key=lambda n: (RELEASED.index(n) if n in RELEASED else len(RELEASED), n))


def _release_date(version: str) -> date | None:
    match = _VERSION.fullmatch(version)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def _rows(root: Path, prefix: str, table: ParquetTable, grouped: bool) -> Iterator[Row | Rejected]:
    columns = [*_COLUMNS, _RAW] if grouped and table.has(_RAW) else list(_COLUMNS)
    for position, file, values in table.rows(columns):
        row_id = f"{prefix}/{position:06d}"
        try:
            content = read_cell(values["image"], file.parent, root)
        except ItemUnreadable as error:
            yield Rejected(position, row_id, error.row_reason, error.message)
            continue
        group = _group(prefix, values) if grouped else None
        yield Row(position, row_id, content, labels_of(values), group)


def labels_of(values: Mapping[str, Any]) -> dict[str, str | None]:
    """Normalised labels of a row; all None for noise."""
    category = _normal(values["category"])
    if category == NOISE_CATEGORY:
        return dict.fromkeys(LABELS)
    others = (_normal(part) for part in (values["other_attributes"] or "").split(","))
    return {
        "item_id": _normal(values["item_ID"]),
        "category": category,
        "main_attribute": _normal(values["main_attribute"]),
        "other_attributes": ", ".join(part for part in others if part) or None,
    }


def _normal(value: object) -> str | None:
    return (str(value).strip().lower() or None) if value is not None else None


def _group(prefix: str, values: Mapping[str, Any]) -> str | None:
    raw = values.get(_RAW)
    content = raw.get("bytes") if isinstance(raw, Mapping) else raw
    if isinstance(content, bytes):
        return f"{prefix}/photo/{hashlib.sha256(content).hexdigest()[:16]}"
    item = _normal(values["item_ID"])
    return f"{prefix}/item/{item}" if item else None
