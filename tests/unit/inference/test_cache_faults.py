"""Whatever happens to the file, a run gets right vectors or none, and no error."""

import random
import shutil
import sqlite3
from dataclasses import replace

import pytest
from cached import SPACE, found, put
from structlog.testing import capture_logs

from lookbench_inference import cache_faults, cache_file
from lookbench_inference.cache import EmbeddingCache
from lookbench_inference.errors import CacheUnavailable

LIMIT = 1 << 30
DOCUMENT = replace(SPACE, role="document", dimension=40)
COUNT = 400


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def cache(folder):
    opened = EmbeddingCache(folder, LIMIT)
    yield opened
    opened.close()


@pytest.fixture
def impatient(monkeypatch):
    """No waiting for locks, no pause after a fault."""
    monkeypatch.setattr(cache_file, "BUSY_S", 0.01)
    monkeypatch.setattr(cache_faults, "PAUSE_S", 0.0)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A folder with two spaces of 400 contents each."""
    folder = tmp_path_factory.mktemp("sound")
    cache = EmbeddingCache(folder, LIMIT)
    for start in range(0, COUNT, 50):
        put(cache, SPACE, *range(start, start + 50))
        put(cache, DOCUMENT, *range(start, start + 50))
    cache.close()
    return folder


def flip_a_bit(data, dice):
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)


def overwrite_in_places(data, dice):
    for _ in range(20):
        at = dice.randrange(len(data))
        data[at : at + 30] = dice.randbytes(len(data[at : at + 30]))


def empty_a_page(data, dice):
    at = dice.randrange(len(data) // 4096) * 4096
    data[at : at + 4096] = bytes(4096)


def cut(data, dice):
    del data[dice.randrange(len(data)) :]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("damage", [flip_a_bit, overwrite_in_places, empty_a_page, cut])
def test_damaged_bytes_are_misses_and_never_wrong_numbers(sound, tmp_path, damage, seed):
    folder = shutil.copytree(sound, tmp_path / "cache")
    path = folder / cache_file.FILE_NAME
    data = bytearray(path.read_bytes())
    damage(data, random.Random(seed))
    path.write_bytes(data)
    cache = EmbeddingCache(folder, LIMIT)
    for space in (SPACE, DOCUMENT):
        found(cache, space, *range(COUNT))  # what it finds is right
        for _ in range(2):  # the first may meet the damage, and begin a new file
            put(cache, space, *range(COUNT))
        assert all(found(cache, space, *range(COUNT)))
    cache.close()


def test_a_damaged_entry_is_dropped_with_a_warning_and_stored_again(cache):
    put(cache, SPACE, *range(5))
    db = sqlite3.connect(cache.path)
    ((frames,),) = db.execute("SELECT frames FROM vectors")
    changed = bytearray(frames)
    changed[len(frames) // 2] ^= 1  # in the middle of the third vector
    db.execute("UPDATE vectors SET frames = ?", (bytes(changed),))
    db.commit()
    db.close()
    with capture_logs() as logs:
        assert found(cache, SPACE, *range(5)) == [True, True, False, True, True]
    assert logs[0]["log_level"] == "warning"
    assert logs[0]["file"] == str(cache.path)
    assert cache.summary().entries == 4
    put(cache, SPACE, *range(5))
    assert found(cache, SPACE, *range(5)) == [True] * 5


@pytest.mark.parametrize(
    "mix_up",
    [
        "UPDATE entries SET position = 1 - position",
        "UPDATE entries SET position = position + 5",
        "UPDATE entries SET position = -1",
        "UPDATE entries SET position = 'x'",
        "UPDATE entries SET block = 77",
        "UPDATE vectors SET frames = NULL",
        "UPDATE vectors SET frames = x'00'",
        "DELETE FROM vectors",
        "UPDATE spaces SET digest = 'sha256:other' || id",
    ],
)
def test_an_index_that_points_elsewhere_is_a_miss(cache, mix_up):
    put(cache, SPACE, 1, 2)
    db = sqlite3.connect(cache.path)
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '')")
    db.commit()
    db.close()
    db = sqlite3.connect(cache.path)
    db.execute(mix_up)
    db.commit()
    db.close()
    assert found(cache, SPACE, 1, 2) == [False, False]
    put(cache, SPACE, 1, 2)
    assert found(cache, SPACE, 1, 2) == [True, True]


def test_vectors_of_another_space_are_recognised(cache):
    """Two spaces of one dimension whose numbers were exchanged."""
    other = replace(SPACE, role="document")
    put(cache, SPACE, 1)
    put(cache, other, 1)
    db = sqlite3.connect(cache.path)
    db.execute("UPDATE spaces SET digest = 'sha256:spare' WHERE id = 1")
    db.execute("UPDATE spaces SET digest = ? WHERE id = 2", (SPACE.digest,))
    db.execute("UPDATE spaces SET digest = ? WHERE id = 1", (other.digest,))
    db.commit()
    db.close()
    assert found(cache, SPACE, 1) == [False]
    assert found(cache, other, 1) == [False]


def test_what_is_no_database_is_set_aside_once_and_a_new_file_begun(folder):
    folder.mkdir()
    path = folder / cache_file.FILE_NAME
    for content in (b"a shopping list\n" * 1000, b"another list\n" * 1000):
        path.write_bytes(content)
        cache = EmbeddingCache(folder, LIMIT)
        with capture_logs() as logs:
            assert found(cache, SPACE, 1) == [False]
        assert [line["state"] for line in logs] == ["damaged"]
        put(cache, SPACE, 1)
        assert found(cache, SPACE, 1) == [True]
        cache.close()
        assert path.with_name(f"{path.name}.damaged").read_bytes() == content
    cache = EmbeddingCache(folder, LIMIT)
    cache.prune(everything=True)
    assert [left.name for left in folder.iterdir()] == [cache_file.LOCK_NAME]
    cache.close()


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE shoes (size)", "PRAGMA application_id = 7", "PRAGMA user_version = 2"],
)
def test_the_database_of_another_program_or_version_is_left_alone(folder, statement):
    folder.mkdir()
    path = folder / cache_file.FILE_NAME
    if "version" in statement:
        first = EmbeddingCache(folder, LIMIT)
        put(first, SPACE, 1)
        first.close()
    db = sqlite3.connect(path)
    db.execute(statement)
    db.commit()
    db.close()
    before = path.read_bytes()
    cache = EmbeddingCache(folder, LIMIT)
    with capture_logs() as logs:
        put(cache, SPACE, 1)
        assert found(cache, SPACE, 1) == [False]
    assert [line["state"] for line in logs] == ["foreign"]
    assert "set cache_dir to another folder" in logs[0]["problem"]
    with pytest.raises(CacheUnavailable, match="not an embedding cache"):
        cache.summary()
    with pytest.raises(CacheUnavailable):
        cache.prune(everything=True)
    cache.close()
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_said_once_and_runs_go_on(tmp_path, impatient):
    (tmp_path / "file").touch()
    cache = EmbeddingCache(tmp_path / "file" / "cache", LIMIT)
    with capture_logs() as logs:
        for _ in range(3):
            put(cache, SPACE, 1)
            assert found(cache, SPACE, 1) == [False]
    assert [line["state"] for line in logs] == ["unusable"]
    assert "set cache_dir" in logs[0]["problem"]
    for asked in (cache.summary, lambda: cache.prune(everything=True)):
        with pytest.raises(CacheUnavailable, match="Not a directory; set cache_dir"):
            asked()


def test_while_another_program_holds_the_file_it_is_read_and_not_written(cache, impatient):
    put(cache, SPACE, 1)
    db = sqlite3.connect(cache.path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    with capture_logs() as logs:
        for _ in range(2):
            cache._file.close()  # opened again, with the short patience of this test
            put(cache, SPACE, 2)
            assert found(cache, SPACE, 1, 2) == [True, False]
    assert [line["state"] for line in logs] == ["locked"]
    db.execute("ROLLBACK")
    db.close()
    put(cache, SPACE, 2)
    assert found(cache, SPACE, 1, 2) == [True, True]


def test_after_a_fault_it_does_without_for_a_while(cache, monkeypatch):
    monkeypatch.setattr(cache_file, "BUSY_S", 0.01)
    put(cache, SPACE, 1)
    cache._file.close()
    db = sqlite3.connect(cache.path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    put(cache, SPACE, 2)
    db.execute("ROLLBACK")
    db.close()
    put(cache, SPACE, 3)
    assert found(cache, SPACE, 1, 2, 3) == [True, False, False]
    monkeypatch.setattr(cache_faults.time, "monotonic", lambda: 1e9)
    put(cache, SPACE, 3)
    assert found(cache, SPACE, 1, 2, 3) == [True, False, True]


def test_a_full_disk_stops_the_storing_and_not_the_reading(cache, impatient):
    put(cache, SPACE, *range(5))
    db = cache._file.connection()
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages}")
    with capture_logs() as logs:
        put(cache, SPACE, *range(1000))
        put(cache, SPACE, *range(1000, 2000))
        assert found(cache, SPACE, *range(6)) == [True] * 5 + [False]
    assert [line["state"] for line in logs] == ["full"]
    assert "free space" in logs[0]["problem"]
    db.execute("PRAGMA max_page_count = 1000000")
    put(cache, SPACE, *range(1000))
    assert all(found(cache, SPACE, *range(1000)))


def test_a_file_that_was_removed_or_replaced_beneath_it_is_noticed(cache, folder, sound):
    put(cache, SPACE, 1)
    shutil.rmtree(folder)
    assert found(cache, SPACE, 1) == [False]
    put(cache, SPACE, 1)
    assert found(cache, SPACE, 1) == [True]
    cache.path.unlink()
    shutil.copy(sound / cache_file.FILE_NAME, folder)
    assert found(cache, SPACE, 1, COUNT) == [True, False]


def test_a_folder_that_another_opens_for_ever_is_waited_for_briefly(folder, monkeypatch):
    monkeypatch.setattr(cache_file, "BUSY_S", 0.0)
    cache = EmbeddingCache(folder, LIMIT)
    folder.mkdir()
    with cache_file._alone(folder / cache_file.LOCK_NAME), capture_logs() as logs:
        put(cache, SPACE, 1)
        assert found(cache, SPACE, 1) == [False]
    assert [line["state"] for line in logs] == ["locked"]
