"""What holds for every judged ranking."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookbench_metrics.judged import Judged
from lookbench_metrics.registry import METRICS, evaluate

DEPTH = 8
GRADES = st.lists(st.integers(0, 4), min_size=DEPTH, max_size=2 * DEPTH)


@st.composite
def judged_rankings(draw: st.DrawFn) -> Judged:
    """Galleries of 8 to 16 items in ranked order; the first 8 are the ranking."""
    galleries = draw(st.lists(GRADES, min_size=1, max_size=5))
    threshold = draw(st.sampled_from((1.0, 2.0)))
    ideal = [sorted(g, reverse=True) + [0] * (2 * DEPTH - len(g)) for g in galleries]
    return Judged(
        np.array([g[:DEPTH] for g in galleries], dtype=np.float64),
        np.array(ideal, dtype=np.float64),
        np.array([sum(x >= threshold for x in g) for g in galleries]),
        threshold,
    )


@given(judged_rankings())
def test_every_value_is_within_zero_and_one(judged):
    for values in evaluate(judged, METRICS, range(1, DEPTH + 1)).values():
        assert (values >= 0).all()
        assert (values <= 1).all()


@pytest.mark.parametrize("name", ["hit", "recall", "mrr", "map_r"])
@given(judged=judged_rankings())
def test_what_sums_over_the_ranking_never_falls_with_k(name, judged):
    curve = METRICS[name].curve(judged)
    assert (np.diff(curve, axis=1) >= 0).all()


@given(judged_rankings(), st.randoms(use_true_random=False))
def test_a_query_does_not_depend_on_the_others(judged, random):
    order = list(range(judged.query_count))
    random.shuffle(order)
    moved = Judged(
        judged.grades[order], judged.ideal[order], judged.n_relevant[order], judged.threshold
    )
    for metric in METRICS.values():
        np.testing.assert_array_equal(metric.curve(judged)[order], metric.curve(moved))


@given(judged_rankings())
def test_the_ideal_ranking_scores_one_wherever_anything_is_relevant(judged):
    best = Judged(judged.ideal[:, :DEPTH].copy(), judged.ideal, judged.n_relevant, judged.threshold)
    for name in ("ndcg_binary", "ndcg_linear", "ndcg_exp", "map_capped", "recall_capped"):
        metric = METRICS[name]
        expected = (metric.relevant(best) > 0).astype(float)
        np.testing.assert_allclose(metric(best, DEPTH), expected, atol=1e-12)
