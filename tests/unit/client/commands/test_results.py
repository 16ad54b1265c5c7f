"""The worst queries."""

import pytest

from lbclient.commands.results import worst_results
from lbclient.errors import InvalidRequest


def names(results):
    return [result.query_id for result in results]


def test_lowest_come_first_and_ties_keep_the_order_of_the_benchmark(query_result):
    listing = [
        query_result(name, value)
        for name, value in [("a", 0.5), ("b", 0.0), ("c", 1.0), ("d", 0.0), ("e", None)]
    ]
    found, more = worst_results(iter(listing), "item", ("hit", 1), 3)
    assert (names(found), more) == (["b", "d", "a"], True)
    found, more = worst_results(iter(listing), "item", ("hit", 1), 0)
    assert (names(found), more) == (["b", "d", "a", "c"], False)


def test_metric_that_the_run_lacks_is_answered_with_those_it_has(query_result):
    with pytest.raises(InvalidRequest, match=r"ndcg@3 .* the run has hit@1"):
        worst_results(iter([query_result("a", 1.0)]), "item", ("ndcg", 3), 5)
