"""Vectors for the tests of the cache: made from their contents, so that each can be checked."""

import hashlib

import numpy as np

from lookbench_inference.space import VectorSpace

DIMENSION = 24
SPACE = VectorSpace(
    model="m",
    graph_digest="sha256:graph",
    weights_digest="sha256:weights",
    adapter_digest="",
    role="query",
    prompt="{text}",
    preset="",
    preprocessing="sha256:tokenizer",
    precision="fp32",
    dimension=DIMENSION,
)


def digests_of(*contents):
    return ["sha256:" + hashlib.sha256(str(c).encode()).hexdigest() for c in contents]


def vectors_of(space, digests):
    """float32 [N, D] and bool [N] that only this space and these contents have."""
    seeds = [hashlib.sha256(f"{space.digest} {d}".encode()).digest() for d in digests]
    rows = [np.random.default_rng(list(seed)).standard_normal(space.dimension) for seed in seeds]
    vectors = np.array(rows, np.float32).reshape(len(digests), space.dimension)
    return vectors, np.array([seed[0] % 2 == 0 for seed in seeds], bool)


def put(cache, space, *contents):
    digests = digests_of(*contents)
    cache.put(space, digests, *vectors_of(space, digests))
    return digests


def found(cache, space, *contents):
    """Which are found; whatever is found is right, to the bit."""
    digests = digests_of(*contents)
    hits = cache.get(space, digests)
    vectors, truncated = vectors_of(space, digests)
    at = hits.found
    assert hits.vectors.dtype == np.float32
    assert hits.vectors[at].tobytes() == vectors[at].tobytes()
    assert np.isnan(hits.vectors[~at]).all()
    assert hits.truncated.tolist() == (truncated & at).tolist()
    return at.tolist()
