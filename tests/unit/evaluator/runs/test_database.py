"""The database file: damage, full and removed folders, and what is done about each."""

import errno
import shutil
import sqlite3

import pytest

from lookbench_evaluator.errors import StoreCorrupted, StoreUnavailable
from lookbench_evaluator.runs import database as module
from lookbench_evaluator.runs import store_faults
from lookbench_evaluator.runs.database import Database

PAGE = 4096
NAME = "runs.sqlite3"


def fill(folder, runs=3, results=200):
    """Runs with results; the folder as it is while the database is open and then closed."""
    database = Database(folder)
    for run in range(runs):
        with database.writing() as db:
            values = (f"r{run}", "SUCCEEDED", "b", "{}")
            db.execute("INSERT INTO runs (id, state, benchmark, record) VALUES (?,?,?,?)", values)
            rows = [(f"r{run}", n, "all", "x" * 300) for n in range(results)]
            db.executemany("INSERT INTO query_results VALUES (?, ?, ?, ?)", rows)
    with database.reading() as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return database


def killed(folder, tmp_path):
    """A copy of the folder as a killed owner leaves it: with its -wal."""
    database = fill(folder)
    copy = tmp_path / "killed"
    shutil.copytree(folder, copy)
    database.close()
    assert (copy / f"{NAME}-wal").exists()
    return copy


def damage(path, page):
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(b"\xff" * PAGE)


def first_page(path, table):
    """The page where a table begins, by SQLite's own account; the -wal stays as it is."""
    db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    db.close()
    return root


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "store"


def test_a_sound_store_of_a_killed_owner_opens(folder, tmp_path):
    database = Database(killed(folder, tmp_path))
    with database.reading() as db:
        assert db.execute("SELECT count(*) FROM query_results").fetchone() == (600,)
    database.close()


def test_a_file_of_another_kind_is_damage_and_named_with_the_next_step(folder):
    folder.mkdir()
    (folder / NAME).write_bytes(b"not a database, but long enough" * 100)
    with pytest.raises(StoreCorrupted) as caught:
        Database(folder)
    assert str(folder / NAME) in caught.value.message
    assert "put a copy back" in caught.value.message
    assert not caught.value.retryable


def test_damaged_pages_are_noticed_at_the_start_after_a_kill(folder, tmp_path):
    copy = killed(folder, tmp_path)
    damage(copy / NAME, first_page(copy / NAME, "query_results"))
    with pytest.raises(StoreCorrupted, match="damaged"):
        Database(copy)


def test_a_cut_file_is_noticed_at_the_start(folder):
    fill(folder).close()
    path = folder / NAME
    path.write_bytes(path.read_bytes()[: 8 * PAGE])
    with pytest.raises(StoreCorrupted):
        Database(folder)


def test_damage_after_a_clean_close_is_noticed_when_it_is_read(folder):
    fill(folder).close()
    damage(folder / NAME, first_page(folder / NAME, "query_results"))
    database = Database(folder)
    with pytest.raises(StoreCorrupted, match=NAME), database.reading() as db:
        db.execute("SELECT * FROM query_results").fetchall()
    with database.reading() as db:
        assert len(db.execute("SELECT id FROM runs").fetchall()) == 3, "the rest stays readable"
    database.close()


def test_of_a_large_store_the_short_tables_are_checked(folder, tmp_path, monkeypatch):
    """Bounded: the pages with the results of queries are left for when they are read."""
    copy = killed(folder, tmp_path)
    monkeypatch.setattr(store_faults, "WHOLE_CHECK_BYTES", 0)
    damage(copy / NAME, first_page(copy / NAME, "query_results"))
    Database(copy).close()
    again = killed(tmp_path / "again", tmp_path / "b")
    damage(again / NAME, first_page(again / NAME, "runs"))
    with pytest.raises(StoreCorrupted):
        Database(again)


def test_an_emptied_file_is_not_taken_for_a_new_store(folder):
    fill(folder).close()
    (folder / "benchmarks" / "shades").mkdir(parents=True)
    (folder / NAME).write_bytes(b"")
    with pytest.raises(StoreCorrupted, match=r"holds nothing, although .*benchmarks does"):
        Database(folder)


def test_a_first_start_that_was_killed_at_once_is_no_damage(folder):
    folder.mkdir()
    (folder / "lock").touch()
    (folder / NAME).touch()
    Database(folder).close()


def test_the_next_step_works(folder):
    folder.mkdir()
    (folder / NAME).write_bytes(b"garbage" * 1000)
    with pytest.raises(StoreCorrupted):
        Database(folder)
    (folder / NAME).rename(folder / "away")
    Database(folder).close()


def test_a_refused_start_lets_the_folder_go(folder):
    folder.mkdir()
    (folder / NAME).write_bytes(b"garbage" * 1000)
    for _ in range(2):
        with pytest.raises(StoreCorrupted):
            Database(folder)


def test_nothing_is_written_to_a_file_that_was_removed(folder, tmp_path):
    database = fill(folder)
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable, match="removed or replaced"), database.writing() as db:
        db.execute("DELETE FROM runs")
    with database.reading() as db:
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (3,), "what is there is read"
    (tmp_path / "elsewhere").rename(folder)
    with database.writing() as db:
        db.execute("DELETE FROM runs WHERE id = 'r0'")
    database.close()


def test_a_file_put_in_place_of_the_open_one_is_not_written(folder):
    database = fill(folder)
    shutil.copy(folder / NAME, folder / "copy")
    (folder / "copy").replace(folder / NAME)
    with pytest.raises(StoreUnavailable, match="removed or replaced"), database.writing():
        pass
    database.close()


def test_a_full_disk_is_named_and_passes(folder):
    """SQLite's own limit of pages stands for the disk's."""
    database = fill(folder)

    def write():
        with database.writing() as db:
            rows = [("r0", 1000 + n, "all", "y" * 3000) for n in range(50)]
            db.executemany("INSERT INTO query_results VALUES (?, ?, ?, ?)", rows)

    with database.reading() as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreUnavailable, match="full; free space there"):
        write()
    with database.reading() as db:
        assert db.execute("SELECT count(*) FROM query_results").fetchone() == (600,)
        db.execute("PRAGMA max_page_count = 100000")
    write()
    database.close()


@pytest.mark.parametrize(
    ("number", "step"),
    [
        (errno.ENOSPC, "free space there"),
        (errno.EROFS, "make it writable"),
        (errno.EACCES, "make it writable"),
    ],
)
def test_a_folder_that_cannot_be_used_is_named_with_the_next_step(
    folder, monkeypatch, number, step
):
    def refuse(folder):
        raise OSError(number, "no")

    monkeypatch.setattr(module, "_own", refuse)
    with pytest.raises(StoreUnavailable, match=step) as caught:
        Database(folder)
    assert str(folder) in caught.value.message
