"""Any source → the stored format, every row examined on the way.

    reader ──▶ decode in threads ──▶ unique ids ──▶ parquet row groups
                      └── rejected, with id and reason ──▶ rejected.parquet

Rows keep their order, and nothing depends on how many threads decode. Of rows
with the same id on the same side (queries or items) the first good one is kept.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from lookbench_core.benchmark import MANIFEST_NAME, BenchmarkManifest, CollectionCounts
from lookbench_evaluator.benchmarks.fingerprint import (
    benchmark_digest,
    judgement_digest,
    row_digest,
    set_digest,
)
from lookbench_evaluator.benchmarks.row_check import Examined, examine
from lookbench_evaluator.benchmarks.source import (
    DUPLICATE_ID,
    CollectionSource,
    QrelsSource,
    Rejected,
    Row,
    Source,
)
from lookbench_evaluator.benchmarks.staging import staged
from lookbench_evaluator.benchmarks.stored_files import (
    CollectionWriter,
    collection_path,
    qrels_path,
    store_errors,
    write_qrels,
    write_rejected,
)
from lookbench_evaluator.errors import BenchmarkAlreadyExists, BenchmarkInvalid
from lookbench_inference.images import MAX_PIXELS, WARNINGS
from lookbench_metrics.errors import ConflictingGrades, InvalidGrades
from lookbench_metrics.judgements import collect

_PROGRESS_ROWS = 100


def import_benchmark(
    source: Source,
    benchmark_id: str,
    target_dir: Path,
    *,
    workers: int = 1,
    max_pixels: int = MAX_PIXELS,
    on_progress: Callable[[int], None] | None = None,
) -> BenchmarkManifest:
    """Writes `source` to the new folder `target_dir`, whole or not at all.

    `workers` threads decode. `on_progress` is told the rows read so far, about
    every hundred rows; an exception that it raises ends the import.

    Raises BenchmarkInvalid (the source is damaged, nothing usable is left, or
    judgements contradict each other), BenchmarkAlreadyExists, StoreUnavailable.
    """
    if target_dir.exists():
        raise BenchmarkAlreadyExists(
            f"benchmarks/{benchmark_id}", f"{target_dir} is there; remove it or choose another id"
        )
    _check_names(source)
    with staged(target_dir) as folder, ThreadPoolExecutor(workers) as pool:
        intake = _Intake(folder, pool, 4 * workers, max_pixels, on_progress or (lambda rows: None))
        counts = [intake.collection(part) for part in source.collections]
        qrels = {name: intake.qrels(name, part) for name, part in source.qrels.items()}
        _check_not_empty(source, counts, intake)
        write_rejected(folder, intake.rejected)
        manifest = _manifest(source, benchmark_id, intake, counts, qrels)
        with store_errors(folder):
            text = manifest.model_dump_json(indent=2) + "\n"
            (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")
    return manifest


@dataclass
class _Intake:
    """What has been taken in so far."""

    folder: Path
    pool: Executor
    window: int
    max_pixels: int
    on_progress: Callable[[int], None]
    rows_in: int = 0
    rejected: list[tuple[str, Rejected]] = field(default_factory=list)
    ids: dict[str, dict[str, str]] = field(default_factory=lambda: {"query": {}, "item": {}})
    digests: dict[str, str] = field(default_factory=dict)
    warnings: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def collection(self, part: CollectionSource) -> CollectionCounts:
        """Reads, examines and writes one collection."""
        start, kept, before = self.rows_in, list[bytes](), len(self.rejected)
        path = collection_path(self.folder, part.name)
        with CollectionWriter(path, part.modality, part.labels) as writer:
            for examined in self._examined(part.rows()):
                row = self._unique(examined.row, part)
                if isinstance(row, Rejected):
                    self.rejected.append((part.name, row))
                    continue
                writer.add(row, examined.digest)
                self.warnings.update(examined.warnings)
                labels = {label: row.labels.get(label) for label in part.labels}
                kept.append(row_digest(row.id, examined.digest, labels, row.group, row.time))
        self.on_progress(self.rows_in)
        self.digests[part.name] = set_digest(kept)
        return CollectionCounts(
            name=part.name,
            modality=part.modality,
            rows_in=self.rows_in - start,
            rows_out=len(kept),
            rows_rejected=len(self.rejected) - before,
        )

    def qrels(self, name: str, part: QrelsSource) -> str:
        """Writes the judgements of known ids; returns their digest."""
        try:
            judgements = collect(part.rows())
        except (ConflictingGrades, InvalidGrades) as error:
            raise BenchmarkInvalid(
                f"{part.file}: {error.message}", file=part.file, **error.metadata
            ) from None
        rows = [(q, i, g) for q, items in judgements.grades.items() for i, g in items.items()]
        known = [r for r in rows if r[0] in self.ids["query"] and r[1] in self.ids["item"]]
        if judgements.repeats:
            self.notes.append(f"{part.file}: {judgements.repeats} repeated judgements, kept once")
        if len(known) < len(rows):
            self.notes.append(
                f"{part.file}: {len(rows) - len(known)} judgements name a query or item that is "
                "not in the benchmark, left out"
            )
        write_qrels(qrels_path(self.folder, name), known)
        return set_digest(judgement_digest(*row) for row in known)

    def _examined(self, rows: Iterable[Row | Rejected]) -> Iterator[Examined]:
        """In the order of `rows`; at most `window` rows are held."""
        waiting: deque[Future[Examined]] = deque()
        for row in rows:
            self.rows_in += 1
            if self.rows_in % _PROGRESS_ROWS == 0:
                self.on_progress(self.rows_in)
            waiting.append(self.pool.submit(examine, row, self.max_pixels))
            if len(waiting) >= self.window:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _unique(self, row: Row | Rejected, part: CollectionSource) -> Row | Rejected:
        if isinstance(row, Rejected):
            return row
        seen = self.ids[part.side]
        if row.id in seen:
            message = f"the id was given before, to {seen[row.id]}"
            return Rejected(row.row, row.id, DUPLICATE_ID, message)
        seen[row.id] = f"row {row.row} of {part.name}"
        return row


def _manifest(
    source: Source,
    benchmark_id: str,
    intake: _Intake,
    counts: list[CollectionCounts],
    qrels: dict[str, str],
) -> BenchmarkManifest:
    sides = {part.side: part.modality for part in source.collections}
    noticed = [f"{intake.warnings[key]} images: {WARNINGS[key]}" for key in sorted(intake.warnings)]
    return BenchmarkManifest(
        id=benchmark_id,
        title=source.title,
        query_modality=sides["query"],
        item_modality=sides["item"],
        subsets=tuple(source.subsets),
        judgements=tuple(source.judgements),
        headline_judgement=source.headline,
        default_metrics=tuple(source.default_metrics),
        collections=tuple(counts),
        source=source.info,
        release_date=source.release_date,
        notes=(*source.notes(), *noticed, *intake.notes),
        digest=benchmark_digest(intake.digests, qrels, source.subsets, source.judgements),
    )


def _check_names(source: Source) -> None:
    names = [subset.name for subset in source.subsets]
    for name in names:
        if names.count(name) > 1:
            raise BenchmarkInvalid(
                f"{source.info.path}: two subsets are named {name!r}; rename one", name=name
            )
    if not names:
        raise BenchmarkInvalid(f"{source.info.path} has no queries", path=source.info.path)


def _check_not_empty(source: Source, counts: list[CollectionCounts], intake: _Intake) -> None:
    left = {part.name: part.rows_out for part in counts}
    for subset in source.subsets:
        for what, parts in (("query", (subset.queries,)), ("item", subset.galleries)):
            if sum(left[part] for part in parts) == 0:
                raise BenchmarkInvalid(
                    f"{source.info.path}: subset {subset.name!r} has no usable {what}"
                    f"{_first_rejection(intake, parts)}",
                    path=source.info.path,
                    subset=subset.name,
                )


def _first_rejection(intake: _Intake, parts: tuple[str, ...]) -> str:
    for name, row in intake.rejected:
        if name in parts:
            return (
                f"; the first rejected is row {row.row}, id {row.id!r}: {row.reason}, {row.message}"
            )
    return ""
