"""Times ranking with all metrics against look-bench 0.4.0 and faiss. Writes JSON.

    python tests/perf/measure_ranking.py speed|memory OUT

1,011 queries, 62,226 items, 768 dimensions, float32, as in LookBench's largest
subset with its distractors. Run with OMP_NUM_THREADS and OPENBLAS_NUM_THREADS
set: every side gets that number of threads.
"""

import json
import logging
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import peers

from lookbench_core.ids import code_point_rank
from lookbench_evaluator.retrieval.exact import Ranking, rank
from lookbench_evaluator.tasks.relevance import judge_equal
from lookbench_metrics.registry import METRICS, evaluate, find
from lookbench_metrics.summary import mean

QUERIES, ITEMS, DIMENSION, LABELS = 1011, 62_226, 768, 8000
CUTOFFS = (1, 5, 10, 20)
REPEATS = 7
THREADS = int(os.environ["OMP_NUM_THREADS"])
# look-bench is measured on two numbers of queries; its time is a line in that.
FEW, MORE = 4, 64
PEER_METRICS = {
    "recall": "hit",
    "mrr": "mrr",
    "ndcg": "ndcg_binary",
    "map": "map_capped",
}


class Inputs:
    """Unit vectors around label centres, so that metrics are neither 0 nor 1."""

    def __init__(self) -> None:
        rng = np.random.default_rng(20251201)
        self.item_codes = rng.integers(0, LABELS, ITEMS)
        self.query_codes = rng.integers(0, LABELS, QUERIES)
        ids = [f"item-{number:06d}" for number in rng.permutation(ITEMS)]
        # Part of opening a benchmark, not of ranking: the same for every run.
        self.order_seconds, self.tie_rank = timed(code_point_rank, ids)
        centres = rng.standard_normal((LABELS, DIMENSION), dtype=np.float32)
        self.items = self._around(centres, self.item_codes, rng)
        self.queries = self._around(centres, self.query_codes, rng)

    @staticmethod
    def _around(centres, codes, rng):
        x = rng.standard_normal((len(codes), DIMENSION), dtype=np.float32)
        x *= 3.0
        for start in range(0, len(x), 4096):
            part = x[start : start + 4096]
            part += centres[codes[start : start + 4096]]
            part /= np.linalg.norm(part, axis=1, keepdims=True)
        return x


def our_step(inputs: Inputs) -> tuple[Ranking, dict[tuple[str, int], float | None]]:
    """From vectors and labels to the mean of every metric at every cutoff."""
    blocks = [(0, inputs.items)]
    ranking = rank(inputs.queries, blocks, inputs.tie_rank, max(CUTOFFS))
    judged = judge_equal(ranking, inputs.query_codes, inputs.item_codes)
    values = evaluate(judged, METRICS, CUTOFFS)
    means = {
        (name, k): mean(row, find(name).relevant(judged)).value for (name, k), row in values.items()
    }
    return ranking, means


def timed(call, *arguments):
    start = time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - start, result


class LookBench:
    """Its evaluators for recall, MRR, nDCG and MAP, one after the other as it runs them."""

    def __init__(self, inputs: Inputs) -> None:
        sys.path.insert(0, str(peers.look_bench()))
        logging.disable(logging.INFO)
        import torch
        from look_bench.metrics import create_evaluator

        torch.set_num_threads(THREADS)
        self._evaluators = [create_evaluator(n, rank_values=list(CUTOFFS)) for n in PEER_METRICS]
        self._queries = torch.from_numpy(inputs.queries)
        self._items = torch.from_numpy(inputs.items)
        self._labels = inputs.query_codes, inputs.item_codes

    def step(self, count: int) -> dict[str, float]:
        results = {}
        for evaluator in self._evaluators:
            results |= evaluator.evaluate(
                query_features=self._queries[:count],
                query_labels=self._labels[0][:count],
                gallery_features=self._items,
                gallery_labels=self._labels[1],
            )
        return results


def check_equal_values(inputs: Inputs, ranking: Ranking, theirs: dict[str, float]) -> None:
    """The same numbers on the queries that look-bench was given."""
    judged = judge_equal(ranking, inputs.query_codes, inputs.item_codes)
    for peer_name, name in PEER_METRICS.items():
        for k in CUTOFFS:
            ours = 100 * find(name)(judged, k)[:MORE].mean()
            assert abs(ours - theirs[f"{peer_name}@{k}"]) <= 0.005 + 1e-9, (name, k)


def speed() -> dict[str, object]:
    import faiss

    faiss.omp_set_num_threads(THREADS)
    inputs = Inputs()
    index = faiss.IndexFlatIP(DIMENSION)
    index.add(inputs.items)
    peer = LookBench(inputs)
    ranking, means = our_step(inputs)
    index.search(inputs.queries, max(CUTOFFS))
    check_equal_values(inputs, ranking, peer.step(MORE))
    rows = [measure_once(inputs, index, peer) for _ in range(REPEATS)]
    medians = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    return {
        "threads": THREADS,
        "repeats": REPEATS,
        "seconds": medians,
        "spread": {key: [min(r[key] for r in rows), max(r[key] for r in rows)] for key in rows[0]},
        "look_bench_ratio": statistics.median(r["look_bench"] / r["ours"] for r in rows),
        "look_bench_by_faiss": statistics.median(r["look_bench"] / r["faiss"] for r in rows),
        "faiss_ratio": statistics.median(r["ours"] / r["faiss"] for r in rows),
        "order_seconds": inputs.order_seconds,
        "hit@1": means["hit", 1],
    }


def measure_once(inputs: Inputs, index, peer: LookBench) -> dict[str, float]:
    """One round of all sides, so that each ratio is of neighbours in time."""
    faiss_seconds, _ = timed(index.search, inputs.queries, max(CUTOFFS))
    our_seconds, _ = timed(our_step, inputs)
    few, _ = timed(peer.step, FEW)
    more, _ = timed(peer.step, MORE)
    a_query = (more - few) / (MORE - FEW)
    return {
        "ours": our_seconds,
        "faiss": faiss_seconds,
        "look_bench": few + a_query * (QUERIES - FEW),
        "look_bench_a_query": a_query,
    }


def memory() -> dict[str, object]:
    """Resident memory of the whole process at its peak, and how much the step added."""
    inputs = Inputs()
    Path("/proc/self/clear_refs").write_text("5")  # Restarts the kernel's peak.
    before = _status("VmRSS")
    our_step(inputs)
    return {"inputs_mb": before, "peak_mb": _status("VmHWM"), "step_mb": _status("VmHWM") - before}


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise KeyError(field)


if __name__ == "__main__":
    result = {"speed": speed, "memory": memory}[sys.argv[1]]()
    Path(sys.argv[2]).write_text(json.dumps(result))
