"""Messages of the embedding cache."""

from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration

from lookbench.v1 import evaluation_service_pb2 as api
from lookbench_evaluator import convert_cache
from lookbench_evaluator.errors import InvalidField
from lookbench_inference.cache import CacheSummary, Use
from lookbench_inference.space import VectorSpace

SPACE = VectorSpace(
    model="m",
    graph_digest="sha256:1",
    weights_digest="sha256:2",
    adapter_digest="sha256:3",
    role="query",
    prompt="Find it: {text}",
    preset="",
    preprocessing="sha256:4",
    precision="fp16",
    dimension=128,
)


def conditions(**fields):
    request = api.PruneCacheRequest(**{"name": "cache", **fields})
    return convert_cache.conditions_from_proto(request)


def test_conditions_are_those_of_the_request():
    assert conditions(all=True) == {
        "max_bytes": None,
        "older_than_s": None,
        "model": None,
        "everything": True,
    }
    narrowed = conditions(
        max_bytes=0, unused_for=Duration(seconds=2, nanos=500_000_000), model="models/clip"
    )
    assert narrowed == {
        "max_bytes": 0,
        "older_than_s": 2.5,
        "model": "clip",
        "everything": False,
    }


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "all"),
        ({"all": True, "model": "models/m"}, "all"),
        ({"all": True, "unused_for": Duration(seconds=1)}, "all"),
        ({"max_bytes": -1}, "max_bytes"),
        ({"unused_for": Duration(seconds=-1)}, "unused_for"),
        ({"model": "m"}, "model"),
        ({"name": "", "all": True}, "name"),
    ],
)
def test_unclear_conditions_name_the_field(fields, field):
    with pytest.raises(InvalidField) as caught:
        conditions(**fields)
    assert caught.value.field == field


def test_a_summary_says_what_made_each_space():
    use = Use(SPACE, entries=3, bytes=999, created=1.5, last_used=2.0)
    message = convert_cache.cache_to_proto(CacheSummary(Path("/c/e.sqlite3"), 5000, 4096, (use,)))
    assert (message.name, message.path) == ("cache", "/c/e.sqlite3")
    assert (message.limit_bytes, message.size_bytes, message.entry_count) == (5000, 4096, 3)
    (space,) = message.spaces
    assert (space.model, space.role, space.prompt) == ("models/m", "query", "Find it: {text}")
    assert (space.dimension, space.precision) == (128, "fp16")
    assert (space.graph_digest, space.adapter_digest) == ("sha256:1", "sha256:3")
    assert space.digest == SPACE.digest
    assert (space.entry_count, space.size_bytes) == (3, 999)
    assert space.create_time.ToMilliseconds() == 1500
    assert space.last_use_time.seconds == 2


def test_many_spaces_with_long_prompts_fit_one_message():
    long = "\N{WOMANS CLOTHES}" * 5000
    uses = [Use(replace(SPACE, prompt=f"{number}{long}"), 1, 1, 0.0, 0.0) for number in range(2000)]
    message = convert_cache.cache_to_proto(CacheSummary(Path("/c"), 1, 1, tuple(uses)))
    assert message.ByteSize() < 2 << 20
    assert (len(message.spaces), message.space_count, message.entry_count) == (500, 2000, 2000)
