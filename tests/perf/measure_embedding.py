"""Embedding through the evaluator against perf_analyzer, and again from the cache. Writes JSON.

    python tests/perf/measure_embedding.py OUT

The gallery is decoded already, as far as a file can be: uncompressed 224 x 224 bitmaps,
which the model's preprocessing leaves as they are. So what is left is the evaluator's
own work: reading, shards, requests, checks, ranking. perf_analyzer sends random bytes of
the same shape to the same server over the same transport.
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import galleries
import perf_analyzer
from stack import MODEL, Stack

from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2

ITEMS, QUERIES = 3000, 10
ROWS = ITEMS + QUERIES
REPEATS = 5
BATCHES = (8, 16, 27)
"""27 images of 224 x 224 fill the evaluator's 4 MiB."""
CONCURRENCIES = (1, 2, 4, 8)
OUTPUT_BYTES = 1280 * 4 * 32


def reached(url, batch, concurrency, shared_memory):
    return perf_analyzer.throughput(
        url,
        MODEL,
        batch=batch,
        concurrency=concurrency,
        shared_memory=shared_memory,
        output_bytes=OUTPUT_BYTES,
        rows=ROWS,
    )


def best_setting(url, shared_memory):
    """Batch and concurrency at which perf_analyzer is fastest, each tried once."""
    settings = [(batch, concurrency) for batch in BATCHES for concurrency in CONCURRENCIES]
    return max(settings, key=lambda setting: reached(url, *setting, shared_memory))


def by_evaluator(stack):
    run, seconds = stack.evaluate("bitmaps")
    assert run.progress.cache_hits == 0
    return ROWS / seconds


def compare(folder, shared_memory):
    """Rows per second of both, turn by turn."""
    folder.mkdir()
    with Stack(folder, cache_bytes=0, shared_memory="on" if shared_memory else "off") as stack:
        galleries.write(stack.data / "bitmaps", ITEMS, 224, "bmp", QUERIES)
        stack.import_folder("bitmaps")
        latencies = get_run_latencies(stack)  # and checks the model, warms up
        setting = best_setting(stack.triton_url, shared_memory)
        turns = [
            (by_evaluator(stack), reached(stack.triton_url, *setting, shared_memory))
            for _ in range(REPEATS)
        ]
    ours, theirs = zip(*turns, strict=True)
    return {
        "setting": setting,
        "ours": ours,
        "perf_analyzer": theirs,
        "ratio": statistics.median(a / b for a, b in turns),
        "get_run_ms": latencies,
    }


def get_run_latencies(stack):
    """Milliseconds of GetRun calls, one after the other, while a run is going."""
    run, taken = stack.create("bitmaps"), []
    while run.state < run_pb2.Run.SUCCEEDED:
        start = time.perf_counter()
        run = stack.stub.GetRun(api.GetRunRequest(name=run.name))
        taken.append(1000 * (time.perf_counter() - start))
        time.sleep(0.01)
    return {
        "count": len(taken),
        "median": statistics.median(taken),
        "p99": statistics.quantiles(taken, n=100)[98],
    }


def warm(folder):
    """Seconds of a first run and of the same again, with the cache on."""
    folder.mkdir()
    with Stack(folder) as stack:
        galleries.write(stack.data / "bitmaps", ITEMS, 224, "bmp", QUERIES)
        stack.import_folder("bitmaps")
        _, first = stack.evaluate("bitmaps")
        again = []
        for _ in range(REPEATS):
            run, seconds = stack.evaluate("bitmaps")
            assert run.progress.cache_hits == ROWS
            again.append(seconds)
    return {"first": first, "again": statistics.median(again)}


def main(out):
    perf_analyzer.install()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        grpc = compare(folder / "grpc", shared_memory=False)
        result = {
            "rows": ROWS,
            "repeats": REPEATS,
            "grpc": grpc,
            "get_run_ms": grpc["get_run_ms"],
            "shared_memory": compare(folder / "shm", shared_memory=True),
            "cache": warm(folder / "warm"),
        }
    out.write_text(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
