"""Types of options."""

from datetime import timedelta

import click
import pytest

from lbclient.options import ASSIGNMENT, CUTOFFS, DURATION, METRIC_AT_CUTOFF, NAMES, SERVER, SIZE


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("1.5m", 90), ("15m", 900), ("2h", 7200), ("1d", 86400)],
)
def test_durations(text, seconds):
    assert DURATION.convert(text, None, None) == timedelta(seconds=seconds)


def test_sizes():
    assert SIZE.convert("5GiB", None, None) == 5 * 2**30


def test_lists_and_pairs():
    assert NAMES.convert("hit, ndcg_binary", None, None) == ("hit", "ndcg_binary")
    assert CUTOFFS.convert("1,5,10", None, None) == (1, 5, 10)
    assert METRIC_AT_CUTOFF.convert("ndcg_binary@10", None, None) == ("ndcg_binary", 10)
    assert ASSIGNMENT.convert("csv=a=b.csv", None, None) == ("csv", "a=b.csv")
    assert ASSIGNMENT.convert("note=", None, None) == ("note", "")


@pytest.mark.parametrize(
    "text", ["127.0.0.1:8090", "[::1]:8090", "host.example.org:443", "unix:/run/x", "dns:///h:1"]
)
def test_servers(text):
    assert SERVER.convert(text, None, None) == text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (DURATION, "soon"),
        (DURATION, "0s"),
        (DURATION, "-5"),
        (NAMES, "hit,"),
        (NAMES, ""),
        (CUTOFFS, "1,x"),
        (CUTOFFS, "0"),
        (METRIC_AT_CUTOFF, "hit"),
        (METRIC_AT_CUTOFF, "hit@0"),
        (METRIC_AT_CUTOFF, "@10"),
        (ASSIGNMENT, "queries"),
        (ASSIGNMENT, "=500"),
        (SIZE, "much"),
        (SERVER, "localhost"),
        (SERVER, "localhost:0"),
        (SERVER, "http://localhost:8090"),
        (SERVER, "localhost:99999"),
    ],
)
def test_anything_else_is_wrong_usage_and_is_quoted(kind, text):
    with pytest.raises(click.BadParameter) as caught:
        kind.convert(text, None, None)
    assert repr(text) in caught.value.message
