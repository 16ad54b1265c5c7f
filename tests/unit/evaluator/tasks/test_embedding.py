"""Embedding in shards: what is committed stays, what is not is done again, once."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from runs_at_hand import Angles, a_workspace

from lookbench_evaluator.benchmarks.importer import import_benchmark
from lookbench_evaluator.benchmarks.opened import StoredBenchmark
from lookbench_evaluator.benchmarks.readers import open_source
from lookbench_evaluator.runs.progress import Tracker
from lookbench_evaluator.tasks.embedding import embed_collection

COUNT = 10
DEGREES = list(range(0, 10 * COUNT, 10))


@pytest.fixture
def stored(tmp_path):
    """Ten items at 0, 10, ... 90 degrees; the one at 30 is too long for the model."""
    source = tmp_path / "source"
    (source / "qrels").mkdir(parents=True)
    texts = [f"{degree}{'!' * (degree == 30)}" for degree in DEGREES]
    lines = [json.dumps({"_id": f"i{n}", "text": text}) for n, text in enumerate(texts)]
    (source / "corpus.jsonl").write_text("\n".join(lines))
    (source / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "0"}))
    (source / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\ti0\t1")
    import_benchmark(open_source("beir", source, {}), "b", tmp_path / "stored")
    return StoredBenchmark.open(tmp_path / "stored")


@pytest.fixture
def workspace(tmp_path):
    with a_workspace(tmp_path, shard_rows=3) as workspace:
        yield workspace


@pytest.fixture
def items(stored):
    (name,) = stored.manifest.subsets[0].galleries
    return stored.collection(name)


async def embed(stored, items, embedder, workspace):
    tracker = Tracker()
    done = await embed_collection(
        stored, items, "item", embedder, workspace=workspace, tracker=tracker
    )
    return done, tracker.progress


def check(done):
    vectors = np.load(done.path)
    assert np.rad2deg(np.arctan2(vectors[:, 1], vectors[:, 0])) == pytest.approx(DEGREES, abs=1e-3)
    assert done.truncated == 1


async def test_a_collection_is_embedded_once_in_its_order(stored, items, workspace):
    embedder = Angles()
    done, progress = await embed(stored, items, embedder, workspace)
    check(done)
    assert sorted(embedder.embedded) == sorted(items.ids)
    assert (progress.done, progress.resumed, progress.cache_hits) == (COUNT, 0, 0)


async def test_a_second_execution_embeds_nothing(stored, items, workspace):
    await embed(stored, items, Angles(), workspace)
    again = Angles()
    done, progress = await embed(stored, items, again, workspace)
    check(done)
    assert again.embedded == []
    assert (progress.done, progress.resumed) == (COUNT, COUNT)


async def test_after_a_failure_only_open_shards_are_embedded_again(stored, items, workspace):
    first = Angles(fails_at="i7")
    with pytest.raises(ConnectionError):
        await embed(stored, items, first, workspace)
    second = Angles()
    done, progress = await embed(stored, items, second, workspace)
    check(done)
    assert {"i0", "i1", "i2"} <= set(first.embedded)
    assert not set(second.embedded) & {"i0", "i1", "i2"}
    assert {"i6", "i7", "i8"} <= set(second.embedded)
    assert progress.resumed + len(second.embedded) == COUNT


async def test_a_shard_whose_vectors_are_damaged_is_embedded_again(stored, items, workspace):
    done, _ = await embed(stored, items, Angles(), workspace)
    with done.path.open("r+b") as file:
        file.seek(-5, os.SEEK_END)
        file.write(b"\xff")
    again = Angles()
    done, _ = await embed(stored, items, again, workspace)
    check(done)
    assert again.embedded == ["i9"]


async def test_a_file_that_is_gone_is_embedded_again(stored, items, workspace):
    done, _ = await embed(stored, items, Angles(), workspace)
    done.path.unlink()
    again = Angles()
    done, _ = await embed(stored, items, again, workspace)
    check(done)
    assert len(again.embedded) == COUNT


async def test_shards_of_another_space_do_not_count(stored, items, workspace):
    await embed(stored, items, Angles(role="query"), workspace)
    other = Angles(role="document")
    await embed(stored, items, other, workspace)
    assert len(other.embedded) == COUNT


async def test_another_size_of_shards_costs_work_but_no_number(stored, items, workspace, tmp_path):
    await embed(stored, items, Angles(), workspace)
    wider = replace(workspace, shard_rows=4)
    done, _ = await embed(stored, items, Angles(), wider)
    check(done)


@pytest.fixture
def with_cache(tmp_path):
    with a_workspace(tmp_path / "other", cache_bytes=1 << 24, shard_rows=3) as workspace:
        yield workspace


def second_run(workspace):
    """A run that shares nothing with the first but the cache, cut otherwise."""
    folder = workspace.folder.parent / "second"
    folder.mkdir()
    return replace(workspace, run_id="s", folder=folder, shard_rows=4)


async def test_another_run_takes_from_the_cache_cut_texts_included(stored, items, with_cache):
    await embed(stored, items, Angles(), with_cache)
    again = Angles()
    done, progress = await embed(stored, items, again, second_run(with_cache))
    check(done)
    assert again.embedded == []
    assert (progress.cache_hits, progress.resumed, progress.done) == (COUNT, 0, COUNT)


async def test_what_the_cache_lacks_is_embedded(stored, items, with_cache):
    with pytest.raises(ConnectionError):
        await embed(stored, items, Angles(fails_at="i8"), with_cache)
    again = Angles()
    done, progress = await embed(stored, items, again, second_run(with_cache))
    check(done)
    assert progress.cache_hits + len(again.embedded) == COUNT
    assert 0 < len(again.embedded) < COUNT
