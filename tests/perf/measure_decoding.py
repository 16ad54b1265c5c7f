"""Times decoding in threads against processes, and shortcuts against equal pixels. Writes JSON.

    python tests/perf/measure_decoding.py pools|shortcuts OUT

Batches are those of the evaluator: as many 224 x 224 pictures as fit into 4 MiB,
prepared by lookbench_inference.images.prepare_batch, the answers taken in order.
"""

import io
import json
import multiprocessing
import statistics
import sys
import time
from collections import deque
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np
import pictures
from PIL import Image

from lookbench_inference.images import prepare, prepare_batch

BATCH = (4 << 20) // (224 * 224 * 3)
REPEATS = 7
AHEAD = 2  # batches that wait beside those in hand


def sets() -> dict[str, list[bytes]]:
    """Name → pictures; each takes about a second of one core."""
    return {
        "photographs of 200 px": pictures.photographs()[::2],
        f"photographs of {pictures.LARGE_EDGE} px": pictures.large_photographs(108),
        "Fashion-MNIST": pictures.fashion_mnist(2000),
    }


def pools() -> dict[str, object]:
    """Pictures a second, medians of interleaved repeats."""
    # Not forked: a process that has opened gRPC channels must not be.
    spawn = multiprocessing.get_context("spawn")
    executors = {
        "1 thread": ThreadPoolExecutor(1),
        "2 threads": ThreadPoolExecutor(2),
        "1 process": ProcessPoolExecutor(1, mp_context=spawn),
        "2 processes": ProcessPoolExecutor(2, mp_context=spawn),
    }
    return {
        name: {preset: compared(executors, contents, preset) for preset in pictures.INPUT.presets}
        for name, contents in sets().items()
    }


def compared(executors: dict[str, Executor], contents: list[bytes], preset: str) -> dict:
    rounds = []
    for number in range(REPEATS + 1):
        seconds = {name: timed(pool, contents, preset) for name, pool in executors.items()}
        if number:  # The first starts the processes.
            rounds.append({name: len(contents) / s for name, s in seconds.items()})
    return {
        name: {
            "median": statistics.median(r[name] for r in rounds),
            "lowest": min(r[name] for r in rounds),
            "highest": max(r[name] for r in rounds),
        }
        for name in executors
    }


def timed(pool: Executor, contents: list[bytes], preset: str) -> float:
    start = time.perf_counter()
    workers = pool._max_workers
    parts = (contents[at : at + BATCH] for at in range(0, len(contents), BATCH))
    jobs = (
        pool.submit(prepare_batch, [""] * len(part), part, pictures.INPUT, preset) for part in parts
    )
    waiting = deque(islice(jobs, workers + AHEAD))
    while waiting:
        waiting.popleft().result()
        waiting.extend(islice(jobs, 1))
    return time.perf_counter() - start


def shortcuts() -> dict[str, object]:
    """What JPEG draft mode and cropping before resizing would gain, and what they change."""
    return {
        f"{name}, {preset}": shortcut(contents, preset, faster)
        for name, contents in list(sets().items())[:2]
        for preset, faster in (("lookbench", drafted), ("native", boxed))
    }


def shortcut(contents: list[bytes], preset: str, faster) -> dict[str, float]:
    exact = [prepare(content, pictures.INPUT, preset).pixels for content in contents]
    changed = [faster(content) for content in contents]
    differences = np.abs(np.stack(exact).astype(int) - np.stack(changed).astype(int))
    times: dict[str, list[float]] = {"exact": [], "faster": []}
    for _ in range(REPEATS):
        for name, call in (
            ("exact", lambda content: prepare(content, pictures.INPUT, preset)),
            ("faster", faster),
        ):
            start = time.perf_counter()
            for content in contents:
                call(content)
            times[name].append((time.perf_counter() - start) / len(contents))
    return {
        "exact_ms": 1e3 * statistics.median(times["exact"]),
        "faster_ms": 1e3 * statistics.median(times["faster"]),
        "largest_difference": int(differences.max()),
        "mean_difference": float(differences.mean()),
        "values_changed": float((differences > 0).mean()),
        "pictures_changed": float((differences.reshape(len(contents), -1) > 0).any(axis=1).mean()),
    }


def drafted(content: bytes) -> np.ndarray:
    """Squash of a JPEG that its decoder already reduced, by 1/2, 1/4 or 1/8."""
    with Image.open(io.BytesIO(content)) as image:
        image.draft("RGB", (224, 224))
        return np.asarray(image.convert("RGB").resize((224, 224), Image.Resampling.BILINEAR))


def boxed(content: bytes) -> np.ndarray:
    """The centre crop computed alone, without what is cut off."""
    with Image.open(io.BytesIO(content)) as image:
        image.load()
        width, height = image.size
        edge = 256
        if width <= height:
            to_width, to_height = edge, int(edge * height / width)
        else:
            to_width, to_height = int(edge * width / height), edge
        left, top = (to_width - 224) // 2, (to_height - 224) // 2
        across, down = width / to_width, height / to_height
        box = (left * across, top * down, (left + 224) * across, (top + 224) * down)
        return np.asarray(image.resize((224, 224), Image.Resampling.BICUBIC, box=box))


if __name__ == "__main__":
    result = {"pools": pools, "shortcuts": shortcuts}[sys.argv[1]]()
    Path(sys.argv[2]).write_text(json.dumps(result, indent=1))
