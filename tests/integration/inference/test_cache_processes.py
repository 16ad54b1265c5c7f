"""The cache between processes: several on one file, some killed, some without room or rights."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from cached import SPACE, found, put

from lookbench_inference.cache import EmbeddingCache

HERE = Path(__file__).parent
ROWS = 40
LIMIT = 1 << 30
SMALL = 4 << 20
NOBODY = 65534


def shard(number):
    return range(ROWS * number, ROWS * (number + 1))


@pytest.fixture
def start():
    """A function: starts cache_writing.py on a folder."""
    started = []

    def run(folder, *, limit=LIMIT, threads=1, first=0, count=20, **environment):
        path = os.pathsep.join([str(HERE.parents[1] / "unit" / "inference"), *sys.path])
        numbers = map(str, (limit, threads, first, count))
        process = subprocess.Popen(
            [sys.executable, HERE / "cache_writing.py", folder, *numbers],
            env={**os.environ, "PYTHONPATH": path, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def end(process):
    """The shards that it stored, and what it logged."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "Error" not in err, err
    log = [line for line in out.splitlines() if not line.startswith("stored ")]
    return [int(line.split()[1]) for line in out.splitlines() if line not in log], log


def check_structure(cache):
    cache.close()
    db = sqlite3.connect(cache.path)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    for table, column in (("entries", "block"), ("vectors", "block"), ("spaces", "id")):
        known = "space" if table == "spaces" else "id"
        orphans = f"SELECT count(*) FROM {table} WHERE {column} NOT IN (SELECT {known} FROM blocks)"
        assert db.execute(orphans).fetchone() == (0,), table
    counted = "SELECT sum(entries) - (SELECT count(*) FROM entries) FROM blocks"
    assert db.execute(counted).fetchone() == (0,)
    db.close()


def test_four_processes_of_three_threads_write_one_file(tmp_path, start):
    running = [start(tmp_path, threads=3, first=10_000 * (1 + at)) for at in range(4)]
    stored = [number for process in running for number in end(process)[0]]
    assert len(stored) == 4 * 3 * 20
    cache = EmbeddingCache(tmp_path, LIMIT)
    for number in set(stored):
        assert all(found(cache, SPACE, *shard(number))), number
    assert cache.summary().entries == ROWS * len(set(stored))
    check_structure(cache)


def test_processes_that_evict_keep_to_the_limit_together(tmp_path, start):
    running = [
        start(tmp_path, limit=SMALL, threads=3, count=60, first=10_000 * at) for at in (1, 2)
    ]
    for process in running:
        end(process)
    cache = EmbeddingCache(tmp_path, SMALL)
    summary = cache.summary()
    assert 0 < summary.size_bytes <= 1.1 * SMALL
    check_structure(cache)


def test_kill_9_at_any_point_leaves_what_was_stored(tmp_path, start):
    seed = int(os.environ.get("LOOKBENCH_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"LOOKBENCH_TEST_SEED={seed}")  # noqa: T201
    dice = random.Random(seed)
    cache = EmbeddingCache(tmp_path, LIMIT)
    for attempt in range(8):
        process = start(tmp_path, threads=2, first=10_000 * (1 + attempt), count=100_000)
        stored = []
        for line in process.stdout:
            stored.append(int(line.split()[1]))
            if len(stored) == 1:
                timer = threading.Timer(dice.uniform(0, 0.5), process.send_signal, [signal.SIGKILL])
                timer.start()
        process.communicate()
        timer.join()
        assert process.returncode == -signal.SIGKILL
        for number in stored:
            assert all(found(cache, SPACE, *shard(number))), (seed, number)
        put(cache, SPACE, *shard(attempt))
        assert all(found(cache, SPACE, *shard(attempt)))
    check_structure(cache)


def test_while_one_process_removes_everything_another_goes_on(tmp_path, start):
    process = start(tmp_path, threads=2, count=60, first=10_000)
    cache = EmbeddingCache(tmp_path, LIMIT)
    removed = 0
    stored = []
    for line in process.stdout:
        stored.append(int(line.split()[1]))
        if len(stored) % 10 == 0:
            removed += cache.prune(everything=True).entries
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert removed > 0
    for number in stored:
        found(cache, SPACE, *shard(number))  # nothing wrong
    put(cache, SPACE, *shard(1))
    assert all(found(cache, SPACE, *shard(1)))
    check_structure(cache)


def test_a_file_that_may_not_grow_costs_hits_and_nothing_else(tmp_path, start):
    """The kernel refuses to write beyond 300 kB, as a quota would."""
    process = start(tmp_path, count=60, LOOKBENCH_TEST_FILE_BYTES="300000")
    stored, log = end(process)
    assert len(stored) == 60
    assert len(log) == 1
    assert "embedding cache" in log[0]
    assert "embeddings.sqlite3" in log[0]
    cache = EmbeddingCache(tmp_path, LIMIT)
    for number in stored:
        found(cache, SPACE, *shard(number))
    put(cache, SPACE, *shard(7))
    assert all(found(cache, SPACE, *shard(7)))
    check_structure(cache)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 3 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill(path):
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_a_small_disk_is_not_filled_to_the_last(small_disk, start):
    stored, log = end(start(small_disk, limit=SMALL, count=800))
    assert len(stored) == 800
    assert log == []  # the oldest made way before the disk was full
    disk = shutil.disk_usage(small_disk)
    assert 0 < disk.free < disk.total / 2


def test_a_disk_that_others_filled_costs_hits_and_nothing_else(small_disk, start):
    cache = EmbeddingCache(small_disk, SMALL)
    put(cache, SPACE, *shard(0))
    ballast = small_disk / "ballast"
    fill(ballast)
    stored, _ = end(start(small_disk, limit=SMALL, count=40))
    assert len(stored) == 40
    for number in (0, *stored):
        found(cache, SPACE, *shard(number))  # nothing wrong
    ballast.unlink()
    stored, log = end(start(small_disk, limit=SMALL, count=5, first=500))
    assert log == []
    assert all(found(cache, SPACE, *shard(500)))
    check_structure(cache)  # closes it, so that the disk can be taken away


@pytest.mark.parametrize("exists", [True, False])
def test_a_read_only_folder_costs_hits_and_nothing_else(tmp_path, start, exists):
    folder = tmp_path / "cache"
    folder.mkdir()
    if exists:
        cache = EmbeddingCache(folder, LIMIT)
        put(cache, SPACE, *shard(0))
        cache.close()
    for parent in (folder, tmp_path, tmp_path.parent, tmp_path.parent.parent):
        parent.chmod(0o555 if parent == folder else 0o755)
    user = {"LOOKBENCH_TEST_USER": str(NOBODY)} if os.getuid() == 0 else {}
    stored, log = end(start(folder, count=4, **user))
    folder.chmod(0o755)
    assert len(stored) == 4
    assert len(log) == 1
    assert "set cache_dir to a folder" in log[0]
