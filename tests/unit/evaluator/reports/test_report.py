"""Reports: micro averages over complete sets of subsets, and what must be said beside them."""

import numpy as np
import pytest

from lookbench_core.benchmark import (
    BenchmarkManifest,
    CollectionCounts,
    Judgement,
    SourceInfo,
    Subset,
)
from lookbench_evaluator.reports.report import make_report
from lookbench_evaluator.retrieval.ranking import Ranking
from lookbench_evaluator.runs.model import Dense, Encoder, Options, Specification, System
from lookbench_evaluator.tasks.dense_retrieval import Evaluated, EvaluatedSubset
from lookbench_evaluator.tasks.gallery import Gallery
from lookbench_metrics.judged import Judged
from lookbench_metrics.registry import evaluate

ENCODER = Encoder(model="m", preset="lookbench")
SUBSETS = tuple(Subset(name=n, queries=f"{n}-q", galleries=(f"{n}-i",)) for n in "abc")


class Stored:
    """What a report asks of a stored benchmark."""

    manifest = BenchmarkManifest(
        id="b",
        title="b",
        query_modality="image",
        item_modality="image",
        subsets=SUBSETS,
        judgements=(Judgement(name="class", description="", kind="equal", labels=("class",)),),
        headline_judgement="class",
        default_metrics=("hit",),
        collections=(
            CollectionCounts(name="x", modality="image", rows_in=0, rows_out=0, rows_rejected=0),
        ),
        source=SourceInfo(format="f", path="p", options={}),
        digest="sha256:0",
    )

    def rejected(self):
        return []

    def audit(self):
        return []


def a_subset(name, hits, n_relevant=None):
    hits = np.array(hits, dtype=bool)[:, None]
    n_relevant = np.ones(len(hits), np.int64) if n_relevant is None else np.array(n_relevant)
    judged = Judged.binary(hits, n_relevant)
    ids = [f"{name}{n}" for n in range(len(hits))]
    rows = {f"{name}-i": np.arange(1)}
    gallery = Gallery((f"{name}-i",), rows, ["i"], np.arange(1), ["i"], {}, 0)
    ranking = Ranking(
        np.zeros((len(hits), 1), np.int64),
        np.ones((len(hits), 1)),
        np.zeros(len(hits), np.int64),
        1,
    )
    values = evaluate(judged, ["hit"], [1])
    return EvaluatedSubset(
        name, ids, [None] * len(ids), gallery, ranking, {"class": judged}, {"class": values}
    )


def report(subsets, **options):
    spec = Specification(
        benchmark="b",
        subsets=tuple(s.name for s in subsets),
        system=System(dense=Dense(query_encoder=ENCODER, item_encoder=ENCODER)),
        options=Options(metrics=("hit",), cutoffs=(1,), judgements=("class",), **options),
    )
    return make_report(spec, Stored(), Evaluated(tuple(subsets), 0))


def values(found):
    return {m.subset: m.value for m in found.metrics}


def test_overall_weighs_subsets_by_their_queries():
    """3 of 4, 0 of 1 and 1 of 1: 4 / 6 overall, where the mean of means would be 0.583."""
    found = report([a_subset("a", [1, 1, 1, 0]), a_subset("b", [0]), a_subset("c", [1])])
    assert values(found) == pytest.approx({"a": 0.75, "b": 0.0, "c": 1.0, "overall": 4 / 6})


def test_an_incomplete_set_has_no_overall_mean_and_says_so():
    """Fault A10: {0.8, 0.9, missing} has no mean, it is 2 of 3."""
    found = report([a_subset("a", [1, 1, 1, 1, 0]), a_subset("b", [1] * 9 + [0])])
    assert values(found) == {"a": 0.8, "b": 0.9, "overall": None}
    assert any("2 of 3 subsets" in note for note in found.notes)


def test_empty_queries_are_counted_under_either_policy():
    subsets = [a_subset("a", [1, 0], [1, 0]), a_subset("b", [1]), a_subset("c", [1])]
    zero, exclude = report(subsets), report(subsets, no_relevant_policy="exclude")
    assert values(zero)["overall"] == 3 / 4
    assert values(exclude)["overall"] == 1.0
    for found, count in ((zero, 4), (exclude, 3)):
        (overall,) = [m for m in found.metrics if m.subset == "overall"]
        assert (overall.query_count, overall.no_relevant_count) == (count, 1)


def test_the_encoder_is_named_with_its_preset():
    found = report([a_subset("a", [1]), a_subset("b", [1]), a_subset("c", [1])])
    assert found.notes[0] == "m: preset lookbench."
