"""Where the time goes when encoded pictures are embedded. Writes JSON.

    python tests/perf/measure_pipeline.py OUT

The embedder of the evaluator, in this process, with a real Triton on the same cores, and
with a server elsewhere that takes no core of ours: as many instances as requests are
under way, each as slow as a request needs. `ahead` 0 is what there was before requests
were prepared ahead: decoding and asking share a bound.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pictures
from stack import HOME, MODEL, Stack
from tritonclient.grpc import InferenceServerClient

from lookbench_core.manifest import read_manifest
from lookbench_inference.batching import Admission
from lookbench_inference.embedders import FanOut, ImageEmbedder, Served
from lookbench_inference.options import EncoderOptions, completed
from lookbench_inference.self_check import check
from lookbench_inference.triton import TritonClient

REPEATS, WORKERS = 5, 2
FAN_OUT = FanOut()
ELSEWHERE_S = {"200 px": 0.1, "1024 px": 1.0}
"""Of a request of 27 pictures: with four instances half of what two cores can decode."""
AHEAD = {"ahead": FAN_OUT.in_flight + WORKERS, "not ahead": 0}


class Workers(ThreadPoolExecutor):
    """Adds up the seconds that the threads were busy, by the clock of their core."""

    seconds = 0.0

    def submit(self, work, /, *arguments):
        def timed():
            start = time.thread_time()
            try:
                return work(*arguments)
            finally:
                self.seconds += time.thread_time() - start

        return super().submit(timed)


class Asked:
    """One server as an embedder asks it; notes when requests were under way."""

    def __init__(self, server):
        self._server, self.spans = server, []

    async def infer(self, model, inputs, output, timeout_s, deadline):
        start = time.perf_counter()
        answer = await self._server.infer(model, inputs, output, timeout_s)
        self.spans.append((start, time.perf_counter()))
        return answer


class Elsewhere:
    """Instances that take one request after the other, and none of our cores."""

    def __init__(self, seconds):
        self._seconds, self.busy = seconds, 0.0
        self._free = asyncio.Semaphore(FAN_OUT.in_flight)

    async def infer(self, model, inputs, output, timeout_s):
        async with self._free:
            start = time.perf_counter()
            await asyncio.sleep(self._seconds)
            self.busy += (time.perf_counter() - start) / FAN_OUT.in_flight
        (rows,) = inputs.values()
        return np.tile(np.eye(1, 1280, dtype=np.float32), (len(rows), 1))


def busy_of(url):
    """Seconds that Triton's one instance has computed so far, by Triton's own statistics."""
    with InferenceServerClient(url) as client:
        (stats,) = client.get_inference_statistics(MODEL).model_stats
    # By batch, because requests that share one would count its time once each.
    return (
        sum(
            part.ns
            for batch in stats.batch_stats
            for part in (batch.compute_input, batch.compute_infer, batch.compute_output)
        )
        / 1e9
    )


def covered(spans):
    """Seconds in which at least one of the spans was open."""
    total, end = 0.0, 0.0
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


async def embed(asked, busy, contents, ahead):
    """One pass over the pictures, in shares of its time."""
    manifest = read_manifest(HOME / "models" / MODEL)
    fan_out = replace(FAN_OUT, ahead=ahead)
    asked.spans.clear()
    admission = Admission.of(fan_out.in_flight, ahead)
    with Workers(WORKERS) as workers:
        served = Served(asked, manifest, fan_out, workers, admission)
        options = completed(manifest, EncoderOptions(), "document")
        ids = [str(number) for number in range(len(contents))]
        before, start = busy(), time.perf_counter()
        await ImageEmbedder(served, options).embed(ids, contents, id)
        seconds = time.perf_counter() - start
    return {
        "pictures a second": len(contents) / seconds,
        "server idle": 1 - (busy() - before) / seconds,
        "nothing asked": 1 - covered(asked.spans) / seconds,
        "decoding, core seconds a second": workers.seconds / seconds,
    }


async def compare(asked, busy, contents):
    """Medians of interleaved passes, the first one to warm up."""
    passes = {name: [] for name in AHEAD}
    for number in range(REPEATS + 1):
        for name, ahead in AHEAD.items():
            found = await embed(asked, busy, contents, ahead)
            if number:
                passes[name].append(found)
    return {
        name: {what: statistics.median(f[what] for f in found) for what in found[0]}
        for name, found in passes.items()
    }


async def self_check(asked):
    folder = HOME / "models" / MODEL
    with ThreadPoolExecutor(WORKERS) as workers:
        admission = Admission.of(FAN_OUT.in_flight, FAN_OUT.ahead)
        served = Served(asked, read_manifest(folder), FAN_OUT, workers, admission)
        taken = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            await check(served, folder)
            taken.append(time.perf_counter() - start)
    return {"first": taken[0], "median": statistics.median(taken)}


async def measure(url):
    client = TritonClient(url)
    result = {"self-check": await self_check(Asked(client))}
    contents = {
        "200 px": pictures.photographs()[::2][:972],
        "1024 px": pictures.large_photographs(540),
    }
    for name, files in contents.items():
        result[f"Triton here, photographs of {name}"] = await compare(
            Asked(client), lambda: busy_of(url), files
        )
        elsewhere = Elsewhere(ELSEWHERE_S[name])
        result[f"server elsewhere, photographs of {name}"] = await compare(
            Asked(elsewhere), lambda server=elsewhere: server.busy, files
        )
    await client.close()
    return result


def main(out):
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder)) as stack:
        result = asyncio.run(measure(stack.triton_url))
    out.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
