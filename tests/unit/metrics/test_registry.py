import numpy as np
import pytest

from lookbench_metrics.errors import InvalidCutoff, UnknownMetric
from lookbench_metrics.registry import METRICS, evaluate, find, parse

NAMES = [
    "hit",
    "recall",
    "recall_capped",
    "precision",
    "mrr",
    "ndcg_binary",
    "ndcg_linear",
    "ndcg_exp",
    "map_r",
    "map_capped",
]


def test_the_names_are_these():
    assert list(METRICS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_says_what_it_is(name):
    metric = find(name)
    assert metric.title.endswith(".")
    assert metric.formula
    assert metric.peers


@pytest.mark.parametrize(
    ("name", "variants"),
    [("ndcg", "ndcg_binary, ndcg_linear, ndcg_exp"), ("map", "map_r, map_capped")],
)
def test_a_word_with_several_meanings_is_refused_with_its_variants(name, variants):
    with pytest.raises(UnknownMetric, match=variants):
        find(name)


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(UnknownMetric, match="no metric 'f1'; known are hit, recall"):
        find("f1")


def test_a_name_with_its_cutoff_is_parsed():
    assert parse("ndcg_binary@10") == ("ndcg_binary", 10)


@pytest.mark.parametrize("text", ["hit", "hit@", "hit@0", "hit@-1", "hit@1.5", "hit@²", "hit@a"])
def test_a_missing_or_odd_cutoff_is_refused(text):
    with pytest.raises(InvalidCutoff, match="hit@10"):
        parse(text)


def test_parse_refuses_a_bare_ambiguous_name():
    with pytest.raises(UnknownMetric, match="map_capped"):
        parse("map@10")


def test_evaluate_gives_what_the_metrics_give_one_by_one(judge):
    judged = judge([[0, 2, 1, 0, 1]], [[2, 2, 1, 1, 1, 1]])
    values = evaluate(judged, NAMES, [1, 3, 5])
    assert set(values) == {(name, k) for name in NAMES for k in (1, 3, 5)}
    for (name, k), row in values.items():
        np.testing.assert_array_equal(row, find(name)(judged, k))


def test_evaluate_refuses_a_cutoff_before_it_computes(judge):
    with pytest.raises(InvalidCutoff, match="cutoff 6"):
        evaluate(judge([[1]], [[1]]), ["hit"], [6])
