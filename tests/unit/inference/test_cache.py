"""The embedding cache: right vectors or none, whatever asks for the same content."""

from dataclasses import fields, replace

import numpy as np
import pytest
from cached import DIMENSION, SPACE, digests_of, found, put, vectors_of
from manifests import TEXT

from lookbench_core.digests import content_digest
from lookbench_inference.cache import EmbeddingCache, Pruned
from lookbench_inference.errors import CacheUnavailable
from lookbench_inference.options import EncoderOptions
from lookbench_inference.space import space_of


@pytest.fixture
def cache(tmp_path):
    opened = EmbeddingCache(tmp_path / "cache", 1 << 30)
    yield opened
    opened.close()


def test_vectors_come_back_to_the_bit_in_any_order_and_number(cache):
    put(cache, SPACE, *range(1000))
    assert found(cache, SPACE, *range(1000)) == [True] * 1000
    assert found(cache, SPACE, 700, "new", 3, 3, "new", 700) == [
        True,
        False,
        True,
        True,
        False,
        True,
    ]
    assert found(cache, SPACE) == []


def test_they_come_back_after_a_restart(tmp_path):
    first = EmbeddingCache(tmp_path, 1 << 30)
    put(first, SPACE, *range(10))
    first.close()
    second = EmbeddingCache(tmp_path, 1 << 30)
    assert found(second, SPACE, *range(11)) == [True] * 10 + [False]
    second.close()


def test_odd_numbers_are_kept_as_they_are(cache):
    vectors = np.zeros((1, DIMENSION), np.float32)
    vectors[0, :4] = [-0.0, 1e-45, np.finfo(np.float32).max, np.nextafter(np.float32(1), 0)]
    digests = digests_of("odd")
    cache.put(SPACE, digests, vectors, np.array([True]))
    assert cache.get(SPACE, digests).vectors.tobytes() == vectors.tobytes()


class StubEncoder:
    """[1, 0] for a query, [0, 1] for a document; `asked` counts."""

    asked = 0

    def encode(self, cache, manifest, role, text):
        space = space_of(manifest, EncoderOptions(role=role, dimension=2))
        digests = [content_digest(text.encode())]
        hits = cache.get(space, digests)
        if hits.found[0]:
            return hits.vectors[0].tolist()
        self.asked += 1
        vectors = np.array([[1, 0] if role == "query" else [0, 1]], np.float32)
        cache.put(space, digests, vectors, np.zeros(1, bool))
        return vectors[0].tolist()


def test_one_text_as_query_and_as_document_has_two_vectors(cache):
    encoder = StubEncoder()
    for _ in range(2):
        assert encoder.encode(cache, TEXT, "query", "silk scarf") == [1, 0]
        assert encoder.encode(cache, TEXT, "document", "silk scarf") == [0, 1]
    assert encoder.asked == 2
    adapted = TEXT.model_copy(
        update={"source": TEXT.source.model_copy(update={"adapter_digest": "sha256:" + "a" * 64})}
    )
    encoder.encode(cache, adapted, "query", "silk scarf")
    assert encoder.asked == 3


@pytest.mark.parametrize("field", [field.name for field in fields(SPACE)])
def test_whatever_else_differs_in_a_space_is_a_miss(cache, field):
    put(cache, SPACE, "a")
    value = getattr(SPACE, field)
    other = replace(SPACE, **{field: value - 1 if field == "dimension" else f"{value}x"})
    assert found(cache, other, "a") == [False]
    put(cache, other, "a")
    assert found(cache, other, "a") == [True]
    assert found(cache, SPACE, "a") == [True]


def test_what_is_stored_twice_stays_as_it_was_first(cache):
    digests = put(cache, SPACE, 1, 2)
    other = np.ones((3, DIMENSION), np.float32)
    more = [*digests, *digests_of(3)]
    cache.put(SPACE, more, other, np.zeros(3, bool))
    assert found(cache, SPACE, 1, 2) == [True, True]
    np.testing.assert_array_equal(cache.get(SPACE, more).vectors[2], other[2])
    assert cache.summary().entries == 3


def test_a_content_twice_in_one_shard_is_stored_once(cache):
    put(cache, SPACE, 1, 2, 1)
    assert found(cache, SPACE, 1, 2) == [True, True]
    assert cache.summary().entries == 2


def row(**changes):
    vectors, truncated = vectors_of(SPACE, digests_of("a"))
    return {"digests": digests_of("a"), "vectors": vectors, "truncated": truncated, **changes}


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (row(vectors=np.full((1, DIMENSION), np.nan, np.float32)), "row 0 is not finite"),
        (row(vectors=np.full((1, DIMENSION), np.inf, np.float32)), "row 0 is not finite"),
        (row(vectors=np.ones((1, 23), np.float32)), r"\(1, 23\)"),
        (row(vectors=np.ones((2, DIMENSION), np.float32)), r"\(2, 24\)"),
        (row(vectors=np.ones((1, DIMENSION))), "float64"),
        (row(truncated=np.zeros(2, bool)), "2 flags"),
        (row(digests=["md5:" + "0" * 64]), "md5"),
        (row(digests=["sha256:123"]), "sha256:123"),
        (row(digests=["sha256:" + "x" * 64]), "hex"),
    ],
)
def test_what_is_no_vector_is_refused_and_not_stored(cache, wrong, problem):
    with pytest.raises(ValueError, match=problem):
        cache.put(SPACE, **wrong)
    assert cache.summary().entries == 0


def test_switched_off_it_neither_reads_nor_writes(tmp_path):
    off = EmbeddingCache(tmp_path, 0)
    put(off, SPACE, 1)
    assert found(off, SPACE, 1) == [False]
    assert off.summary().entries == 0
    assert list(tmp_path.iterdir()) == []


def test_switched_off_it_still_shows_and_prunes_what_it_kept_before(tmp_path):
    on = EmbeddingCache(tmp_path, 1 << 30)
    put(on, SPACE, 1)
    on.close()
    off = EmbeddingCache(tmp_path, 0)
    assert found(off, SPACE, 1) == [False]
    assert (off.summary().entries, off.summary().limit_bytes) == (1, 0)
    assert off.prune(everything=True).entries == 1
    assert off.summary().entries == 0
    off.close()


def test_the_summary_counts_by_space(tmp_path):
    times = iter(range(100, 200))
    cache = EmbeddingCache(tmp_path, 1 << 30, now=lambda: float(next(times)))
    document = replace(SPACE, role="document", dimension=8)
    put(cache, SPACE, 1, 2)
    put(cache, document, 1)
    found(cache, SPACE, 1)
    summary = cache.summary()
    cache.close()
    queries, documents = summary.uses  # most recently used first
    assert (queries.space, queries.entries) == (SPACE, 2)
    assert (queries.created, queries.last_used) == (100.0, 102.0)
    assert (documents.space, documents.entries) == (document, 1)
    assert queries.bytes == 2 * (DIMENSION * 4 + 37)
    assert summary.entries == 3
    assert summary.size_bytes >= queries.bytes + documents.bytes
    assert summary.limit_bytes == 1 << 30


class TestPruning:
    DAY = 24 * 3600.0

    @pytest.fixture
    def aged(self, tmp_path):
        """Model a used 40 and 5 days ago, model b used 40 days ago."""
        now = [0.0]
        cache = EmbeddingCache(tmp_path, 1 << 30, now=lambda: now[0])
        put(cache, replace(SPACE, model="a"), 1, 2)
        put(cache, replace(SPACE, model="b"), 3)
        now[0] = 35 * self.DAY
        put(cache, replace(SPACE, model="a"), 4)
        now[0] = 40 * self.DAY
        yield cache
        cache.close()

    def test_by_age(self, aged):
        assert aged.prune(older_than_s=30 * self.DAY).entries == 3
        assert found(aged, replace(SPACE, model="a"), 1, 2, 4) == [False, False, True]

    def test_by_model(self, aged):
        removed = aged.prune(model="a")
        assert removed == Pruned(3, 3 * (DIMENSION * 4 + 37))
        assert [use.space.model for use in aged.summary().uses] == ["b"]

    def test_conditions_hold_together(self, aged):
        assert aged.prune(model="a", older_than_s=30 * self.DAY).entries == 2
        assert aged.prune(model="a", max_bytes=1 << 30).entries == 0
        assert aged.summary().entries == 2

    def test_what_matches_nothing_removes_nothing(self, aged):
        assert aged.prune(model="nobody") == Pruned(0, 0)
        assert aged.summary().entries == 4

    def test_everything(self, aged):
        assert aged.prune(everything=True).entries == 4
        assert aged.summary().entries == 0
        assert not aged.path.exists()
        put(aged, SPACE, 1)
        assert found(aged, SPACE, 1) == [True]

    @pytest.mark.parametrize("wrong", [{}, {"everything": True, "model": "a"}])
    def test_something_must_be_asked_for_and_no_contradiction(self, aged, wrong):
        with pytest.raises(ValueError, match="everything"):
            aged.prune(**wrong)
        assert aged.summary().entries == 4

    def test_of_nothing_removes_nothing(self, cache):
        assert cache.prune(max_bytes=0) == Pruned(0, 0)
        assert cache.prune(everything=True) == Pruned(0, 0)


def test_after_closing_runs_go_on_without_and_people_are_told(tmp_path):
    cache = EmbeddingCache(tmp_path, 1 << 30)
    put(cache, SPACE, 1)
    cache.close()
    put(cache, SPACE, 2)
    assert found(cache, SPACE, 1, 2) == [False, False]
    with pytest.raises(CacheUnavailable, match="stopping"):
        cache.summary()
