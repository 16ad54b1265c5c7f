"""Dense retrieval: embed queries and items, rank exactly by cosine, judge, measure."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from lookbench_core.benchmark import Judgement, Subset
from lookbench_evaluator.benchmarks.collection import Collection
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.errors import BenchmarkInvalid
from lookbench_evaluator.retrieval.blocks import whole_file
from lookbench_evaluator.retrieval.errors import NonFiniteVectors
from lookbench_evaluator.retrieval.exact import rank
from lookbench_evaluator.retrieval.ranking import Ranking
from lookbench_evaluator.retrieval.vectors import Floats, Ints, Vectors
from lookbench_evaluator.runs.model import Options, Specification, Stage
from lookbench_evaluator.runs.progress import Tracker
from lookbench_evaluator.runs.results import QueryMetric, QueryResult
from lookbench_evaluator.runs.workspace import Workspace
from lookbench_evaluator.tasks.embedding import Side, embed_collection
from lookbench_evaluator.tasks.gallery import Gallery, make_gallery
from lookbench_evaluator.tasks.relevance import judge_equal, judge_qrels, label_codes
from lookbench_inference.errors import ModelOutputInvalid
from lookbench_inference.ports import Embedder
from lookbench_metrics.judged import Judged
from lookbench_metrics.registry import evaluate, find

Values = Mapping[tuple[str, int], Floats]


@dataclass(frozen=True)
class EvaluatedSubset:
    """Rankings, judgements and metrics of one subset's queries.

    values: judgement → (metric, cutoff) → float64 [Q].
    """

    name: str
    query_ids: Sequence[str]
    groups: Sequence[str | None]
    gallery: Gallery
    ranking: Ranking
    judged: Mapping[str, Judged]
    values: Mapping[str, Values]

    def results(self) -> Iterator[QueryResult]:
        """One record a query, in the order of the queries."""
        for row, query_id in enumerate(self.query_ids):
            found = self.ranking.present[row]
            items = self.ranking.items[row][found]
            yield QueryResult(
                subset=self.name,
                query_id=query_id,
                group=self.groups[row] or query_id,
                items=tuple(self.gallery.ids[item] for item in items),
                scores=tuple(self.ranking.scores[row][found].tolist()),
                grades={
                    name: tuple(judged.grades[row][found].tolist())
                    for name, judged in self.judged.items()
                },
                metrics=tuple(self._metrics(row)),
                ties=int(self.ranking.ties[row]),
            )

    def _metrics(self, row: int) -> Iterator[QueryMetric]:
        for judgement, values in self.values.items():
            for (metric, cutoff), column in values.items():
                yield QueryMetric(
                    judgement=judgement,
                    metric=metric,
                    cutoff=cutoff,
                    value=float(column[row]),
                    no_relevant=bool(self.relevant[judgement, metric][row] == 0),
                )

    @cached_property
    def relevant(self) -> Mapping[tuple[str, str], Ints]:
        """(judgement, metric) → int64 [Q]: how many relevant items the metric sees."""
        return {
            (name, metric): find(metric).relevant(self.judged[name])
            for name, values in self.values.items()
            for metric in {metric for metric, _ in values}
        }


@dataclass(frozen=True)
class Evaluated:
    """Everything that the report is made from."""

    subsets: tuple[EvaluatedSubset, ...]
    truncated: int


@dataclass
class DenseRetrieval:
    """One evaluation of one pair of encoders on one benchmark."""

    stored: StoredBenchmark
    spec: Specification
    query_embedder: Embedder
    item_embedder: Embedder
    workspace: Workspace
    tracker: Tracker
    threads: Executor
    truncated: int = field(default=0, init=False)
    collections: dict[str, Collection] = field(default_factory=dict, init=False)

    async def evaluate(self) -> Evaluated:
        """All subsets of the specification. A collection that several share is embedded once."""
        subsets = [s for s in self.stored.manifest.subsets if s.name in self.spec.subsets]
        threaded = partial(asyncio.get_running_loop().run_in_executor, self.threads)
        self.collections = await threaded(self._read, subsets)
        galleries = {s.name: await threaded(self._gallery, s) for s in subsets}
        queries = tuple(dict.fromkeys(s.queries for s in subsets))
        items = tuple(dict.fromkeys(n for g in galleries.values() for n in g.collections))
        self.tracker.expect(sum(len(self.collections[n]) for n in (*queries, *items)))
        self.tracker.enter(Stage.EMBEDDING_QUERIES)
        query_files = await self._embed(queries, "query", self.query_embedder)
        self.tracker.enter(Stage.EMBEDDING_ITEMS)
        item_files = await self._embed(items, "item", self.item_embedder)
        self.tracker.enter(Stage.RANKING)
        evaluated = [
            await threaded(self._subset, s, galleries[s.name], query_files[s.queries], item_files)
            for s in subsets
        ]
        return Evaluated(tuple(evaluated), self.truncated)

    def _read(self, subsets: Sequence[Subset]) -> dict[str, Collection]:
        names = {n for s in subsets for n in (s.queries, *s.galleries, *s.noise)}
        return {name: self.stored.collection(name) for name in names}

    def _gallery(self, subset: Subset) -> Gallery:
        options = self.spec.options
        return make_gallery(
            self.collections,
            subset,
            without_noise=options.without_noise,
            merge=options.duplicate_policy == "merge",
        )

    async def _embed(self, names: Sequence[str], side: Side, embedder: Embedder) -> dict[str, Path]:
        files = {}
        for name in names:
            embedded = await embed_collection(
                self.stored,
                self.collections[name],
                side,
                embedder,
                workspace=self.workspace,
                tracker=self.tracker,
            )
            files[name] = embedded.path
            self.truncated += embedded.truncated
        return files

    def _subset(
        self,
        subset: Subset,
        gallery: Gallery,
        query_file: Path,
        item_files: Mapping[str, Path],
    ) -> EvaluatedSubset:
        options = self.spec.options
        queries = self.collections[subset.queries]
        if not queries.ids:
            raise BenchmarkInvalid(
                f"subset {subset.name} has no queries; import the benchmark again",
                subset=subset.name,
            )
        ranking = self._rank(subset, gallery, whole_file(query_file), item_files)
        chosen = [j for j in self.stored.manifest.judgements if j.name in options.judgements]
        judged = {j.name: self._judge(j, subset, gallery, ranking) for j in chosen}
        return EvaluatedSubset(
            subset.name,
            queries.ids,
            queries.groups,
            gallery,
            ranking,
            judged,
            {name: _values(j, options) for name, j in judged.items()},
        )

    def _rank(
        self,
        subset: Subset,
        gallery: Gallery,
        query_vectors: Vectors,
        item_files: Mapping[str, Path],
    ) -> Ranking:
        depth = max(self.spec.options.cutoffs)
        try:
            return rank(query_vectors, gallery.blocks(item_files), gallery.tie_rank, depth)
        except NonFiniteVectors as error:
            known = gallery.ids
            if error.side == "query":
                known = self.collections[subset.queries].ids
            named = ", ".join(known[row] for row in error.rows[:5])
            raise ModelOutputInvalid(
                f"{error.side} vectors of {named} have no direction", items=named
            ) from error

    def _judge(
        self, judgement: Judgement, subset: Subset, gallery: Gallery, ranking: Ranking
    ) -> Judged:
        queries = self.collections[subset.queries]
        if judgement.kind == "equal":
            query_codes, item_codes = label_codes(
                [queries.labels[name].tolist() for name in judgement.labels],
                [_column(gallery, name) for name in judgement.labels],
            )
            return judge_equal(ranking, query_codes, item_codes, candidate_of=gallery.candidate_of)
        grades = self.stored.qrels(judgement.name)
        candidate = _candidates(gallery)
        return judge_qrels(
            ranking,
            [_row_grades(grades.get(query, {}), candidate) for query in queries.ids],
            self.spec.options.relevance_threshold,
        )


def _values(judged: Judged, options: Options) -> Values:
    return evaluate(judged, options.metrics, options.cutoffs)


def _column(gallery: Gallery, label: str) -> Sequence[str | None]:
    """A label's values; a gallery without the label matches nothing."""
    return gallery.labels.get(label) or [None] * len(gallery.all_ids)


def _candidates(gallery: Gallery) -> dict[str, int]:
    """Item id → candidate that stands for it."""
    return dict(zip(gallery.all_ids, gallery.candidate_of.tolist(), strict=True))


def _row_grades(grades: Mapping[str, float], candidate: Mapping[str, int]) -> dict[int, float]:
    """Candidate → grade; of several members the highest. Items outside the gallery drop out."""
    found: dict[int, float] = {}
    for item, grade in grades.items():
        if item in candidate:
            row = candidate[item]
            found[row] = max(grade, found.get(row, 0.0))
    return found
