"""Embedding through the evaluator: against perf_analyzer, and from the cache."""

import pytest
from measured import measure, show

pytestmark = [pytest.mark.perf, pytest.mark.timeout(3600)]
LEAST_OF_PERF_ANALYZER = 0.9
MOST_OF_FIRST_RUN = 0.05


def _line(name, result):
    ours, theirs = sorted(result["ours"]), sorted(result["perf_analyzer"])
    batch, concurrency = result["setting"]
    middle = len(ours) // 2
    return (
        f"  {name:14} ours {ours[middle]:6.1f} rows/s ({ours[0]:.1f} to {ours[-1]:.1f}), "
        f"perf_analyzer {theirs[middle]:6.1f} ({theirs[0]:.1f} to {theirs[-1]:.1f}; batch {batch}, "
        f"concurrency {concurrency}), ratio {result['ratio']:.2f}"
    )


def test_embedding(tmp_path):
    out = tmp_path / "embedding.json"
    result = measure("measure_embedding.py", out, out=out)
    cache, latency = result["cache"], result["get_run_ms"]
    share = cache["again"] / cache["first"]
    show(
        f"{result['rows']} decoded images through the evaluator, medians of {result['repeats']}",
        _line("gRPC", result["grpc"]),
        _line("shared memory", result["shared_memory"]),
        f"  first run {cache['first']:.1f} s, from the cache {cache['again']:.2f} s: {share:.1%}",
        f"  GetRun meanwhile: median {latency['median']:.1f} ms, p99 {latency['p99']:.1f} ms "
        f"of {latency['count']}",
    )
    assert result["grpc"]["ratio"] >= LEAST_OF_PERF_ANALYZER
    assert result["shared_memory"]["ratio"] >= LEAST_OF_PERF_ANALYZER
    assert share <= MOST_OF_FIRST_RUN
