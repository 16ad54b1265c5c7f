"""Ranks galleries in files, 100,000 and 1,000,000 items. Writes JSON.

    python tests/perf/measure_gallery.py OUT FOLDER

1,000 queries, 768 dimensions, depth 100. The files are written first, block by block,
by another process, so that this one's peak of memory is that of ranking.
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from lookbench_evaluator.retrieval.blocks import of_file
from lookbench_evaluator.retrieval.exact import rank

QUERIES, DIMENSION, DEPTH = 1000, 768, 100
SMALL, LARGE = 100_000, 1_000_000
REPEATS = 3
BLOCK = 50_000


def unit(rng, rows):
    vectors = rng.standard_normal((rows, DIMENSION), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def write(path, rows):
    array = np.lib.format.open_memmap(path, "w+", dtype="<f4", shape=(rows, DIMENSION))
    rng = np.random.default_rng(20251201)
    for start in range(0, rows, BLOCK):
        array[start : start + BLOCK] = unit(rng, min(BLOCK, rows - start))
    array.flush()


def ranked(queries, path, rows):
    start = time.perf_counter()
    ranking = rank(queries, of_file(path), np.arange(rows), DEPTH)
    seconds = time.perf_counter() - start
    assert ranking.item_count == rows
    assert ranking.present.all()
    return seconds, ranking


def check(queries, ranking, path):
    """The first queries' items, by the product of everything with everything in float64."""
    vectors = np.load(path, mmap_mode="r")
    scores = np.concatenate(
        [
            queries[:5].astype(np.float64) @ vectors[s : s + BLOCK].T.astype(np.float64)
            for s in range(0, len(vectors), BLOCK)
        ],
        axis=1,
    )
    for row, score in enumerate(np.round(scores, 6)):
        expected = np.lexsort((np.arange(len(score)), -score))[:DEPTH]
        assert np.array_equal(ranking.items[row], expected)


def peak_mb():
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def main(out, folder):
    sizes = {SMALL: folder / "small.npy", LARGE: folder / "large.npy"}
    for rows, path in sizes.items():
        subprocess.run([sys.executable, __file__, "write", str(path), str(rows)], check=True)
    queries = unit(np.random.default_rng(7), QUERIES)
    seconds = {rows: [] for rows in sizes}
    for _ in range(REPEATS):
        for rows, path in sizes.items():
            taken, ranking = ranked(queries, path, rows)
            seconds[rows].append(taken)
    result = {
        "small_s": statistics.median(seconds[SMALL]),
        "large_s": statistics.median(seconds[LARGE]),
        "peak_mb": peak_mb(),
    }
    result["ratio"] = statistics.median(
        large / small for small, large in zip(seconds[SMALL], seconds[LARGE], strict=True)
    )
    check(queries, ranking, sizes[LARGE])
    out.write_text(json.dumps(result))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
