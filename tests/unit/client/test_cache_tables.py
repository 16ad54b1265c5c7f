"""What people see of the cache."""

from google.protobuf.timestamp_pb2 import Timestamp

from lbclient import cache_tables
from lookbench.v1.cache_pb2 import Cache

USED = Timestamp(seconds=1_700_000_000)


def space(model, **fields):
    return Cache.Space(model=f"models/{model}", last_use_time=USED, **fields)


def test_each_space_is_a_row_that_fits_80_columns(printed):
    cache = Cache(
        path="/home/somebody/.lookbench/evaluator/cache/embeddings.sqlite3",
        limit_bytes=20 << 30,
        size_bytes=1_300_000_000,
        entry_count=420_000,
        spaces=[
            space("efficientnet-lite0", preset="lookbench", precision="fp32", dimension=1280),
            space("all-minilm-l6-v2", role="query", precision="fp32", adapter_digest="sha256:1"),
        ],
        space_count=3,
    )
    shown = "\n".join(printed(part, width=80) for part in cache_tables.cache_parts(cache))
    assert "1.2 GiB of 20 GiB" in shown
    assert "efficientnet-lite0" in shown
    assert "and 1 used before these" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_what_made_a_space_is_said_in_a_few_words():
    assert cache_tables.made_with(space("m", role="query", precision="fp16")) == "query, fp16"
    assert cache_tables.made_with(space("m", preset="p", adapter_digest="sha256:1")) == "p, adapter"
    assert cache_tables.made_with(space("m")) == "-"


def test_pruning_says_what_went_and_what_is_left():
    left = Cache(entry_count=5, size_bytes=1 << 20)
    assert cache_tables.removed_text(1, 2048, left) == (
        "1 embedding (2 KiB) removed; 5 left, 1 MiB on disk"
    )
    assert cache_tables.removed_text(0, 0, left) == "nothing to remove; 1 MiB on disk"
