"""Committed shards: what they are known by, and how long they are kept."""

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from lookbench_evaluator.errors import StoreUnavailable
from lookbench_evaluator.runs import transitions
from lookbench_evaluator.runs.database import Database
from lookbench_evaluator.runs.model import Dense, Encoder, Run, Specification, System
from lookbench_evaluator.runs.results import Report
from lookbench_evaluator.runs.shards import Shard, ShardLedger, checksum, shard_key
from lookbench_evaluator.runs.store import PendingLimit, RunStore
from lookbench_inference.space import VectorSpace

SPACE = VectorSpace("m", "g", "w", "", "query", "{text}", "", "p", "fp32", 4)
SHARD = Shard(start=0, key="k", checksum=7, truncated=1)


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path)
    yield database
    database.close()


@pytest.fixture
def store(database):
    encoder = Encoder(model="m")
    system = System(dense=Dense(query_encoder=encoder, item_encoder=encoder))
    store = RunStore(database, lambda run: None, PendingLimit(10, 10))
    for run_id in ("a", "b"):
        spec = Specification(benchmark="b", system=system)
        store.create(Run(id=run_id, specification=spec, created=datetime.now(UTC)), "", "", 0.0)
    return store


@pytest.fixture
def ledger(database, store):
    return ShardLedger(database)


def test_a_shard_is_found_in_its_run_and_part_only(ledger):
    ledger.commit("a", "item-gallery", SHARD)
    ledger.commit("a", "item-gallery", replace(SHARD, start=256))
    assert ledger.committed("a", "item-gallery") == {0: SHARD, 256: replace(SHARD, start=256)}
    assert ledger.committed("a", "query-gallery") == {}
    assert ledger.committed("b", "item-gallery") == {}


def test_committing_again_replaces(ledger):
    ledger.commit("a", "p", SHARD)
    ledger.commit("a", "p", replace(SHARD, checksum=8))
    assert ledger.committed("a", "p")[0].checksum == 8


def test_shards_go_with_the_run_and_when_it_succeeds(ledger, store):
    for run_id in ("a", "b"):
        ledger.commit(run_id, "p", SHARD)
        store.change(run_id, transitions.started)
    store.change("a", transitions.cancelled)
    assert ledger.committed("a", "p")  # kept for a resume
    store.delete("a")
    report = Report(metrics=(), subsets=(), headline_judgement="class")
    store.change("b", transitions.succeeded(store.get("b")), report)
    assert (ledger.committed("a", "p"), ledger.committed("b", "p")) == ({}, {})


def test_a_shard_of_a_deleted_run_is_refused(ledger):
    with pytest.raises(StoreUnavailable) as caught:
        ledger.commit("gone", "p", SHARD)
    assert isinstance(caught.value.__cause__, sqlite3.IntegrityError)


def test_the_key_is_of_the_space_and_the_contents_in_order():
    key = shard_key(SPACE, ["x", "y"])
    assert shard_key(replace(SPACE), ["x", "y"]) == key
    assert shard_key(SPACE, ["y", "x"]) != key
    assert shard_key(replace(SPACE, role="document"), ["x", "y"]) != key


def test_the_checksum_is_of_every_bit():
    vectors = np.ones((3, 4), dtype=np.float32)
    before = checksum(vectors)
    assert checksum(vectors.copy(order="F")) == before
    vectors[2, 3] = np.nextafter(np.float32(1), np.float32(2))
    assert checksum(vectors) != before
