"""The catalogue of benchmarks when the store fails it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from lookbench_evaluator.benchmarks import catalog as module
from lookbench_evaluator.benchmarks.catalog import BenchmarkCatalog, ImportState
from lookbench_evaluator.errors import StoreCorrupted, StoreUnavailable
from lookbench_evaluator.runs.database import Database
from lookbench_evaluator.settings import Settings

TABLE = "id,path,split,kind\nq,a.png,query,x\ni,b.png,item,x\n"


class Sick(Database):
    """A database whose next transactions fail with the given errors; None is one that works."""

    def __init__(self, folder):
        super().__init__(folder)
        self.failures = []

    @contextmanager
    def writing(self):
        error = self.failures.pop(0) if self.failures else None
        if error is not None:
            raise error
        with super().writing() as db:
            yield db


@pytest.fixture
def database(tmp_path):
    database = Sick(tmp_path / "store")
    yield database
    database.close()


@pytest.fixture
def catalog(database, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "STORE_RETRY_S", 0.0)
    monkeypatch.delenv("LOOKBENCH_EVALUATOR_STORE_DIR", raising=False)
    settings = Settings(
        _cli_parse_args=[], store_dir=tmp_path / "store", data_roots=(tmp_path,), workers=1
    )
    with ThreadPoolExecutor(1) as threads:
        yield BenchmarkCatalog(database, settings, lambda name: False, threads)


async def ended(catalog, folder):
    await catalog.start_import("b", "image-folder", str(folder), {}, False)
    while (found := catalog.get("b")).state is ImportState.IMPORTING:
        await asyncio.sleep(0)
    return found


async def test_an_import_that_fails_while_the_disk_is_full_ends_once_there_is_room(
    catalog, database, image_folder, tmp_path
):
    full = StoreUnavailable("the disk is full; free space there")
    database.failures = [None, full, full, full]
    found = await ended(catalog, image_folder(TABLE))
    assert found.state is ImportState.FAILED
    assert found.failure.reason == "STORE_UNAVAILABLE"
    assert "free space" in found.failure.message
    assert not (tmp_path / "store/benchmarks" / found.folder).exists(), "it takes no room"
    assert (await ended(catalog, image_folder(TABLE))).state is ImportState.READY


async def test_a_damaged_store_does_not_keep_an_import_for_ever(catalog, database, image_folder):
    database.failures = [None, StoreCorrupted("damaged"), StoreCorrupted("damaged")]
    await catalog.start_import("b", "image-folder", str(image_folder(TABLE)), {}, False)
    await asyncio.wait_for(catalog.stop(), 30)


async def test_a_record_that_cannot_be_read_is_damage_and_named(catalog, database, image_folder):
    await ended(catalog, image_folder(TABLE))
    with database.writing() as db:
        db.execute("UPDATE benchmarks SET record = '{'")
    for call in (catalog.all, catalog.recover, lambda: catalog.get("b")):
        with pytest.raises(StoreCorrupted, match=r"runs\.sqlite3 is damaged"):
            call()
