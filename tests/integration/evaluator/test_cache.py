"""The embedding cache of a real evaluator: runs fill it and use it; people see and prune it."""

import json
import os
import subprocess
import sys

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from asking import MODEL, make_folder, refused
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2

NAME = {"name": "cache"}
ITEMS, QUERIES = 6, 3


@pytest.fixture
def fresh(make_evaluator, triton, data_root):
    """An evaluator with a benchmark and nothing else."""
    started = make_evaluator(triton.grpc_url)
    folder = data_root / "cached"
    if not folder.exists():
        rows = [(f"i{n}", "item", "dark" if n < 3 else "light") for n in range(ITEMS)]
        rows += [(f"q{n}", "query", "dark" if n < 2 else "light") for n in range(QUERIES)]
        make_folder(folder, rows)
    started.import_benchmark("cached", "image-folder", folder)
    yield started
    started.end()


def run(evaluator, **fields):
    finished = evaluator.wait(evaluator.create("cached", MODEL, **fields))
    assert finished.state == run_pb2.Run.SUCCEEDED, finished.error.message
    return finished


def cache(evaluator):
    return evaluator.stub.GetCache(api.GetCacheRequest(**NAME))


def prune(evaluator, **conditions):
    return evaluator.stub.PruneCache(api.PruneCacheRequest(**NAME, **conditions))


def numbers(evaluator, finished):
    report = evaluator.report(finished)
    return [(m.metric, m.cutoff, m.value) for m in report.metrics]


def lbclient(evaluator, *arguments):
    command = [sys.executable, "-m", "lbclient", "--server", f"127.0.0.1:{evaluator.port}"]
    return subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_a_second_run_takes_everything_from_the_cache_and_says_the_same(fresh):
    assert cache(fresh).entry_count == 0
    first = run(fresh)
    kept = cache(fresh)
    assert kept.entry_count == ITEMS + QUERIES
    (space,) = kept.spaces
    assert (space.model, space.dimension) == (f"models/{MODEL}", 1280)
    assert space.preset
    assert space.graph_digest == first.pinned.models[0].graph_digest
    assert 0 < space.size_bytes < kept.size_bytes <= kept.limit_bytes
    second = run(fresh)
    assert second.progress.cache_hits == ITEMS + QUERIES
    assert numbers(fresh, second) == numbers(fresh, first)
    fresh.end()
    fresh.start()
    third = run(fresh)
    assert third.progress.cache_hits == ITEMS + QUERIES
    assert numbers(fresh, third) == numbers(fresh, first)


def test_pruned_embeddings_are_embedded_again(fresh):
    first = run(fresh)
    assert prune(fresh, model="models/all-minilm-l6-v2").removed_entry_count == 0
    assert prune(fresh, unused_for=Duration(seconds=3600)).removed_entry_count == 0
    answer = prune(fresh, model=f"models/{MODEL}", max_bytes=0)
    assert answer.removed_entry_count == ITEMS + QUERIES
    assert answer.cache == cache(fresh)
    assert answer.cache.entry_count == 0
    again = run(fresh)
    assert again.progress.cache_hits == 0
    assert numbers(fresh, again) == numbers(fresh, first)
    assert prune(fresh, all=True).removed_entry_count == ITEMS + QUERIES


@pytest.mark.parametrize(
    ("conditions", "problem"),
    [
        ({}, "say what to remove"),
        ({"all": True, "max_bytes": 5}, "leave max_bytes out"),
        ({"max_bytes": -1}, "max_bytes: -1 is negative"),
        ({"unused_for": Duration()}, "unused_for: 0 s is not above 0"),
        ({"model": "lite0"}, "model: 'lite0' is not of the form models/ID"),
        ({"name": "caches/1", "all": True}, "name: 'caches/1' is not 'cache'"),
    ],
)
def test_unclear_requests_are_refused(evaluator, conditions, problem):
    request = api.PruneCacheRequest(**{**NAME, **conditions})
    invalid = grpc.StatusCode.INVALID_ARGUMENT
    said, others = refused(evaluator.stub.PruneCache, request, invalid, "INVALID_FIELD")
    assert problem in said
    assert others == ["BadRequest"]


def test_a_cache_that_is_switched_off_keeps_nothing(fresh):
    fresh.end()
    fresh.environment["LOOKBENCH_EVALUATOR_CACHE_BYTES"] = "0"
    fresh.start()
    for _ in range(2):
        assert run(fresh).progress.cache_hits == 0
    found = cache(fresh)
    assert (found.limit_bytes, found.entry_count, found.size_bytes) == (0, 0, 0)
    assert "off" in lbclient(fresh, "cache", "show").stdout


def test_a_cache_that_cannot_be_used_costs_no_run(fresh, tmp_path):
    fresh.end()
    (tmp_path / "file").touch()
    fresh.environment["LOOKBENCH_EVALUATOR_CACHE_DIR"] = str(tmp_path / "file" / "cache")
    fresh.start()
    run(fresh)
    unavailable = grpc.StatusCode.UNAVAILABLE
    said, _ = refused(
        fresh.stub.GetCache, api.GetCacheRequest(**NAME), unavailable, "STORE_UNAVAILABLE"
    )
    assert "set cache_dir" in said
    log = fresh.log_file.read_text()
    assert log.count("embedding cache") == 1
    assert str(tmp_path / "file" / "cache" / "embeddings.sqlite3") in log


def test_two_evaluators_may_share_a_cache(make_evaluator, fresh, triton, data_root, tmp_path):
    run(fresh)
    folder = os.path.dirname(cache(fresh).path)  # noqa: PTH120 - a path of the server
    other = make_evaluator(triton.grpc_url, cache_dir=folder)
    other.import_benchmark("cached", "image-folder", data_root / "cached")
    assert run(other).progress.cache_hits == ITEMS + QUERIES
    other.end()


def test_the_command_line_shows_and_prunes_it(fresh):
    run(fresh)
    shown = lbclient(fresh, "cache", "show")
    assert shown.returncode == 0
    assert MODEL in shown.stdout
    assert "of 20 GiB" in shown.stdout
    data = json.loads(lbclient(fresh, "cache", "show", "--json").stdout)
    assert data["entry_count"] == str(ITEMS + QUERIES)
    for conditions in (("--older-than", "30d"), ("--model", "nobody"), ("--max-size", "1GiB")):
        assert "nothing to remove" in lbclient(fresh, "cache", "prune", *conditions).stderr
    pruned = lbclient(fresh, "cache", "prune", "--all")
    assert (pruned.returncode, pruned.stdout) == (0, "")
    assert pruned.stderr.startswith("9 embeddings (45.3 KiB) removed; 0 left")
