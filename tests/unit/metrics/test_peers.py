"""Equality with pytrec_eval-terrier (trec_eval's code) and ir-measures.

Peers get ranks as scores, so that their own rule for ties cannot differ, and
never an empty judgement set, which trec_eval's code does not survive.
"""

import random
from typing import NamedTuple

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from ir_measures import AP, RR, P, R, Success, nDCG

from lookbench_metrics.judged import Judged
from lookbench_metrics.judgements import Judgements, collect
from lookbench_metrics.registry import METRICS, evaluate

CASES = 1200
DEPTH = 20
CUTOFFS = (1, 2, 5, 10, 20)
ITEMS = [f"i{n:02d}" for n in range(30)]


class Cases(NamedTuple):
    rankings: dict[str, list[str]]
    judgements: Judgements


@pytest.fixture(scope="module")
def cases() -> Cases:
    rng = random.Random(20240607)
    rankings = {f"q{n:04d}": _ranking(rng) for n in range(CASES)}
    rows = []
    for query in rankings:
        if rng.random() < 0.08:
            continue  # Missing from the judgements.
        judged = rng.sample(ITEMS, rng.randint(1, len(ITEMS)))
        empty = rng.random() < 0.08
        rows += [(query, item, 0 if empty else rng.choice((0, 0, 1, 1, 2, 5))) for item in judged]
    rows += rng.sample(rows, len(rows) // 10)
    numbered = [(line, *row) for line, row in enumerate(rows, start=2)]
    return Cases(rankings, collect(numbered))


def _ranking(rng: random.Random) -> list[str]:
    """Items by score descending, then id; a third of the scores are tied."""
    gallery = rng.sample(ITEMS, rng.randint(1, len(ITEMS)))
    scores = {item: rng.randint(0, 20) for item in gallery}
    return sorted(gallery, key=lambda item: (-scores[item], item))[:DEPTH]


def _judged(cases: Cases, threshold: float) -> Judged:
    grades, ideal, relevant = [], [], []
    for query, ranking in cases.rankings.items():
        known = cases.judgements.grades.get(query, {})
        row = [known.get(item, 0.0) for item in ranking]
        grades.append(row + [0.0] * (DEPTH - len(row)))
        best = sorted(known.values(), reverse=True)
        ideal.append(best + [0.0] * (len(ITEMS) - len(best)))
        relevant.append(sum(grade >= threshold for grade in best))
    return Judged(np.array(grades), np.array(ideal), np.array(relevant), threshold)


def _ours(cases: Cases, threshold: float = 1.0) -> dict[tuple[str, int], dict[str, float]]:
    values = evaluate(_judged(cases, threshold), METRICS, CUTOFFS)
    return {
        key: dict(zip(cases.rankings, row.tolist(), strict=True)) for key, row in values.items()
    }


def _run(cases: Cases) -> dict[str, dict[str, float]]:
    return {
        query: {item: -float(place) for place, item in enumerate(ranking)}
        for query, ranking in cases.rankings.items()
    }


def _qrels(cases: Cases, gain=lambda grade: grade) -> dict[str, dict[str, int]]:
    return {
        query: {item: int(gain(grade)) for item, grade in items.items()}
        for query, items in cases.judgements.grades.items()
    }


def _trec(cases: Cases, name: str, level: int = 1, gain=lambda grade: grade):
    """(query, cutoff) -> value by pytrec_eval."""
    spec = {f"{name}.{','.join(map(str, CUTOFFS))}"}
    evaluator = pytrec_eval.RelevanceEvaluator(_qrels(cases, gain), spec, relevance_level=level)
    return {
        (query, k): row[f"{name}_{k}"]
        for query, row in evaluator.evaluate(_run(cases)).items()
        for k in CUTOFFS
    }


def _assert_equal(ours, peer) -> None:
    assert len(peer) > 1000 * len(CUTOFFS)
    for (query, k), value in peer.items():
        assert ours(query, k) == pytest.approx(value, abs=1e-9), (query, k)


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize(
    ("name", "peer"),
    [("hit", "success"), ("recall", "recall"), ("precision", "P"), ("map_r", "map_cut")],
)
def test_hit_or_miss_metrics_equal_trec_eval(cases, name, peer, level):
    values = _ours(cases, level)
    _assert_equal(lambda q, k: values[name, k][q], _trec(cases, peer, level))


@pytest.mark.parametrize(
    ("name", "gain"),
    [
        ("ndcg_binary", lambda grade: grade >= 1),
        ("ndcg_linear", lambda grade: grade),
        # trec_eval has no exponential gain; it is the linear one of these grades.
        ("ndcg_exp", lambda grade: 2**grade - 1),
    ],
)
def test_ndcg_equals_trec_eval(cases, name, gain):
    values = _ours(cases)
    _assert_equal(lambda q, k: values[name, k][q], _trec(cases, "ndcg_cut", gain=gain))


@pytest.mark.parametrize(("name", "peer"), [("recall_capped", "recall"), ("map_capped", "map_cut")])
def test_capped_metrics_are_trec_evals_with_another_divisor(cases, name, peer):
    values = _ours(cases)
    relevant = dict(zip(cases.rankings, _judged(cases, 1).n_relevant.tolist(), strict=True))
    capped = {
        (query, k): value * relevant[query] / max(1, min(relevant[query], k))
        for (query, k), value in _trec(cases, peer).items()
    }
    _assert_equal(lambda q, k: values[name, k][q], capped)


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("hit", Success),
        ("recall", R),
        ("precision", P),
        ("mrr", RR),
        ("ndcg_linear", nDCG),
        ("map_r", AP),
    ],
)
def test_metrics_equal_ir_measures(cases, name, measure):
    values = _ours(cases)
    measures = {measure @ k: k for k in CUTOFFS}
    results = ir_measures.iter_calc(list(measures), _qrels(cases), _run(cases))
    peer = {(result.query_id, measures[result.measure]): result.value for result in results}
    _assert_equal(lambda q, k: values[name, k][q], peer)


def test_queries_without_judgements_are_zero_everywhere(cases):
    missing = set(cases.rankings) - set(cases.judgements.grades)
    assert len(missing) > 50
    for values in _ours(cases).values():
        assert {values[query] for query in missing} == {0.0}


def test_the_cases_hold_repeats_and_empty_queries(cases):
    assert cases.judgements.repeats > 500
    assert sum(not any(items.values()) for items in cases.judgements.grades.values()) > 50
