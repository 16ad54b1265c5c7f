"""Dense retrieval on a stored benchmark, with an embedder whose vectors are known by hand."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from runs_at_hand import Angles, a_workspace

from lookbench_evaluator.benchmarks.importer import import_benchmark
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.benchmarks.readers import open_source
from lookbench_evaluator.reports.report import make_report
from lookbench_evaluator.runs.model import Dense, Encoder, Options, Specification, System
from lookbench_evaluator.runs.progress import Tracker
from lookbench_evaluator.tasks.dense_retrieval import DenseRetrieval
from lookbench_evaluator.tasks.plan import plan
from lookbench_inference.errors import ModelOutputInvalid

SYSTEM = System(dense=Dense(query_encoder=Encoder(model="m"), item_encoder=Encoder(model="m")))


def a_benchmark(folder, corpus, queries, qrels):
    source = folder / "source"
    (source / "qrels").mkdir(parents=True)

    def lines(texts):
        return "\n".join(json.dumps({"_id": i, "text": str(t)}) for i, t in texts.items())

    (source / "corpus.jsonl").write_text(lines(corpus))
    (source / "queries.jsonl").write_text(lines(queries))
    rows = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in qrels)]
    (source / "qrels/test.tsv").write_text("\n".join(rows))
    import_benchmark(open_source("beir", source, {}), "b", folder / "stored")
    return StoredBenchmark.open(folder / "stored")


@pytest.fixture
def stored(tmp_path):
    """Query at 0 degrees; items at 10, 20 and 40; the one at 20 has grade 2, at 40 grade 1."""
    return a_benchmark(
        tmp_path,
        {"i10": 10, "i20": 20, "i40": 40},
        {"q": 0, "lost": 90},
        [("q", "i20", 2), ("q", "i40", 1), ("lost", "i10", 0)],
    )


def spec(stored, **options):
    return plan(
        stored.manifest, Specification(benchmark="b", system=SYSTEM, options=Options(**options))
    )


async def evaluate(stored, specification, embedder=None):
    embedder = embedder or Angles()
    tracker = Tracker()
    with ThreadPoolExecutor(1) as threads, a_workspace(stored.folder.parent / "run") as workspace:
        task = DenseRetrieval(
            stored, specification, embedder, embedder, workspace, tracker, threads
        )
        return await task.evaluate(), tracker


async def test_rankings_grades_and_metrics_are_those_of_the_angles(stored):
    evaluated, tracker = await evaluate(
        stored, spec(stored, metrics=("ndcg_linear", "mrr"), cutoffs=(3,))
    )
    results = {r.query_id: r for r in evaluated.subsets[0].results()}
    first = results["q"]
    assert first.items == ("i10", "i20", "i40")
    assert first.scores == pytest.approx(np.cos(np.deg2rad([10, 20, 40])), abs=1e-6)
    (grades,) = first.grades.values()
    assert grades == (0.0, 2.0, 1.0)
    values = {m.metric: m.value for m in first.metrics}
    # By hand: DCG = 2 * 0.630930 + 0.5, ideal = 2 + 0.630930.
    assert values["ndcg_linear"] == pytest.approx((2 * 0.630930 + 0.5) / 2.630930, abs=1e-6)
    assert values["mrr"] == 0.5
    assert (tracker.progress.done, tracker.progress.total) == (5, 5)


@pytest.mark.parametrize(("policy", "mean", "count"), [("zero", 0.25, 2), ("exclude", 0.5, 1)])
async def test_a_query_with_nothing_relevant_follows_the_policy_and_is_counted(
    stored, policy, mean, count
):
    """Fault A5."""
    wanted = spec(stored, metrics=("mrr",), cutoffs=(3,), no_relevant_policy=policy)
    evaluated, _ = await evaluate(stored, wanted)
    (value,) = make_report(wanted, stored, evaluated).metrics
    assert (value.value, value.query_count, value.no_relevant_count) == (mean, count, 1)


async def test_a_cutoff_above_the_gallery_ranks_all_of_it(stored):
    """Fault A7."""
    wanted = spec(stored, metrics=("precision", "hit"), cutoffs=(10,))
    evaluated, _ = await evaluate(stored, wanted)
    result = next(evaluated.subsets[0].results())
    assert len(result.items) == 3
    values = {m.metric: m.value for m in result.metrics}
    assert values == {"precision": 0.2, "hit": 1.0}


async def test_the_threshold_decides_what_is_relevant(stored):
    wanted = spec(stored, metrics=("recall",), cutoffs=(3,), relevance_threshold=2.0)
    evaluated, _ = await evaluate(stored, wanted)
    (judged,) = evaluated.subsets[0].judged.values()
    assert judged.n_relevant.tolist() == [1, 0]


async def test_truncated_texts_are_counted(stored):
    wanted = spec(stored)
    evaluated, _ = await evaluate(stored, wanted, Angles(truncated=True))
    report = make_report(wanted, stored, evaluated)
    assert report.truncated_count == 5
    assert any("longer than the model accepts" in note for note in report.notes)


async def test_a_vector_without_direction_is_named_by_its_id(stored):
    """Fault A8: checked again at the ranking, whoever made the vectors."""

    class Broken(Angles):
        async def embed(self, ids, contents, on_rows):
            done = await super().embed(ids, contents, on_rows)
            done.vectors[[i == "i20" for i in ids]] = np.nan
            return done

    with pytest.raises(ModelOutputInvalid, match="i20"):
        await evaluate(stored, spec(stored), Broken())
