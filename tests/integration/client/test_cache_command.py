"""`lbclient cache`: what it shows, what it asks for, and when it asks first."""

import io

import pytest

from lookbench.v1.cache_pb2 import Cache


class Terminal(io.StringIO):
    """Standard input with a person at it."""

    def isatty(self):
        return True


def asked(evaluator):
    return [request for method, request in evaluator.calls if method == "PruneCache"]


def test_shows_how_full_it_is_and_with_what(lbclient):
    shown = lbclient("cache", "show")
    assert shown.code == 0
    assert "1,200" in shown.out
    assert "4 MiB of 20 GiB" in shown.out
    assert "lite0" in shown.out
    assert "/var/lib/lookbench/cache/embeddings.sqlite3" in shown.out
    assert lbclient("cache", "show", "--json").json["spaces"][0]["model"] == "models/lite0"


def test_says_that_it_is_off(lbclient, evaluator):
    evaluator.cache = Cache(name="cache", path="/c/embeddings.sqlite3")
    assert "off" in lbclient("cache", "show").out


def test_prunes_what_it_was_told(lbclient, evaluator):
    conditions = ("--max-size", "5GiB", "--older-than", "30d", "--model", "lite0")
    pruned = lbclient("cache", "prune", *conditions)
    assert (pruned.code, pruned.out) == (0, "")
    assert pruned.err == "1,200 embeddings (3 MiB) removed; 0 left, 0 B on disk\n"
    (request,) = asked(evaluator)
    assert (request.max_bytes, request.model) == (5 << 30, "models/lite0")
    assert request.unused_for.seconds == 30 * 24 * 3600
    assert not request.all


def test_prunes_to_nothing_by_size(lbclient, evaluator):
    assert lbclient("cache", "prune", "--max-size", "0").code == 0
    (request,) = asked(evaluator)
    assert request.HasField("max_bytes")


def test_json_is_one_document(lbclient):
    answer = lbclient("cache", "prune", "--all", "--json").json
    assert answer["removed_entry_count"] == "1200"
    assert answer["cache"]["entry_count"] == "0"


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ((), "--max-size, --older-than, --model, or --all"),
        (("--all", "--model", "lite0"), "--all stands alone"),
        (("--max-size", "much"), "'much' is not a size such as 5GiB"),
    ],
)
def test_wrong_usage_asks_for_nothing(lbclient, evaluator, options, advice):
    outcome = lbclient("cache", "prune", *options)
    assert outcome.code == 2
    assert advice in outcome.err
    assert not asked(evaluator)


def test_all_is_confirmed_on_a_terminal(lbclient, evaluator, monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    refused = lbclient("cache", "prune", "--all")
    assert refused.code == 1
    assert "Remove all 1,200 embeddings (4 MiB) at 127.0.0.1:" in refused.err
    assert "nothing was removed" in refused.err
    assert not asked(evaluator)
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert lbclient("cache", "prune", "--all").code == 0
    assert asked(evaluator)[0].all


def test_all_is_not_confirmed_with_yes_or_in_a_script(lbclient, evaluator, monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal(""))
    assert lbclient("cache", "prune", "--all", "--yes").code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert lbclient("cache", "prune", "--all").code == 0
    assert len(asked(evaluator)) == 2
