"""The cache stays within its limit, and what was not used for longest goes first."""

import shutil
from collections import namedtuple
from dataclasses import replace

import numpy as np
import pytest
from cached import SPACE, digests_of, found, put

from lookbench_inference import cache_file
from lookbench_inference.cache import EmbeddingCache

WIDE = replace(SPACE, dimension=1024)  # 4 KiB a vector
SHARD = 60  # one block
LIMIT = 8 << 20


def store(cache, name, space=WIDE):
    """A shard of 248 KB."""
    digests = digests_of(*(f"{name} {row}" for row in range(SHARD)))
    vectors = np.full((SHARD, space.dimension), len(name), np.float32)
    cache.put(space, digests, vectors, np.zeros(SHARD, bool))
    return digests


def has(cache, digests, space=WIDE):
    hits = cache.get(space, digests).found
    assert hits.all() or not hits.any()
    return bool(hits.all())


@pytest.fixture
def cache(tmp_path):
    opened = EmbeddingCache(tmp_path / "cache", LIMIT)
    yield opened
    opened.close()


def size(cache):
    return sum(path.stat().st_size for path in cache.path.parent.glob("*.sqlite3*"))


def test_file_and_log_stay_within_the_limit_and_the_newest_stay(cache):
    shards = [store(cache, str(number)) for number in range(100)]  # 26 MB
    sizes = []
    for number in range(100, 120):
        shards.append(store(cache, str(number)))
        sizes.append(size(cache))
    assert max(sizes) <= 1.1 * LIMIT
    kept = [number for number, digests in enumerate(shards) if has(cache, digests)]
    assert kept == list(range(min(kept), 120))
    assert len(kept) * SHARD * 4096 > 0.75 * LIMIT


def test_what_was_used_outlives_what_was_not(cache):
    first, second = store(cache, "first"), store(cache, "second")
    for number in range(60):
        store(cache, str(number))
        assert has(cache, first)
    assert not has(cache, second)


def test_a_clock_that_jumps_changes_no_order(tmp_path):
    hour = 3600.0
    now = [1000 * hour]
    cache = EmbeddingCache(tmp_path, LIMIT, now=lambda: now[0])
    shards = []
    for number in range(60):
        now[0] = 1000 * hour - number * hour if number % 2 else 5000 * hour
        shards.append(store(cache, str(number)))
    kept = [number for number, digests in enumerate(shards) if has(cache, digests)]
    cache.close()
    assert kept == list(range(min(kept), 60))
    assert kept


def test_other_spaces_make_way_too_and_their_names_go_with_them(cache):
    old = replace(WIDE, model="old")
    store(cache, "old", old)
    for number in range(60):
        store(cache, str(number))
    assert [use.space.model for use in cache.summary().uses] == ["m"]


def test_a_shard_larger_than_the_limit_is_not_stored_and_nothing_makes_way_for_it(tmp_path):
    cache = EmbeddingCache(tmp_path, 1 << 20)
    kept = store(cache, "small")
    huge = digests_of(*range(400))
    cache.put(WIDE, huge, np.ones((400, 1024), np.float32), np.zeros(400, bool))
    assert not cache.get(WIDE, huge).found.any()
    assert has(cache, kept)
    cache.close()


def test_pruning_to_a_size_gives_the_space_back(cache):
    shards = [store(cache, str(number)) for number in range(24)]
    before = size(cache)
    removed = cache.prune(max_bytes=2 << 20)
    assert before > 6 << 20
    assert size(cache) <= 2 << 20
    assert removed.entries % SHARD == 0
    assert removed.bytes >= before - size(cache) - (1 << 20)
    kept = [number for number, digests in enumerate(shards) if has(cache, digests)]
    assert kept == list(range(24 - len(kept), 24))
    assert len(kept) >= 6


def test_a_lowered_limit_is_reached_by_and_by(tmp_path):
    large = EmbeddingCache(tmp_path, 64 << 20)
    for number in range(150):  # 39 MB
        store(large, str(number))
    large.close()
    small = EmbeddingCache(tmp_path, LIMIT)
    for number in range(20):
        store(small, f"new {number}")
    assert size(small) <= 1.1 * LIMIT
    small.close()


def test_the_last_of_the_disk_is_left_to_others(cache, monkeypatch):
    """Where the disk is nearly full the file grows no more; the oldest makes way."""
    shards = [store(cache, str(number)) for number in range(8)]
    before = cache.path.stat().st_size
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100 << 30, 99 << 30, 1 << 30))
    shards += [store(cache, f"late {number}") for number in range(4)]
    assert cache.path.stat().st_size <= before + (1 << 20)
    kept = [number for number, digests in enumerate(shards) if has(cache, digests)]
    assert kept == list(range(min(kept), 12))
    assert min(kept) > 0


def test_readers_that_never_pause_do_not_let_the_log_grow(cache, monkeypatch):
    """Another reader holds a state while much is written; afterwards the log is cut."""
    store(cache, "first")
    other = cache_file.CacheFile(cache.path, LIMIT)
    monkeypatch.setattr(cache_file, "_PATIENCE_MS", 1)
    db = other.connection()
    with cache_file.transaction(db, "DEFERRED"):
        db.execute("SELECT count(*) FROM blocks").fetchone()
        for number in range(20):
            store(cache, str(number))
    for number in range(2):
        store(cache, f"late {number}")
    other.close()
    assert size(cache) <= 1.1 * LIMIT


def test_small_vectors_are_evicted_as_well(tmp_path):
    cache = EmbeddingCache(tmp_path, 1 << 20)
    for number in range(400):
        put(cache, SPACE, *range(50 * number, 50 * number + 50))  # 2.7 MB in all
    assert size(cache) <= 1.3 * (1 << 20)
    assert found(cache, SPACE, 19_999, 0) == [True, False]
    cache.close()
