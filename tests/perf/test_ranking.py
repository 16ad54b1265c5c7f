"""Ranking with all metrics: 1,011 x 62,226 x 768 against look-bench 0.4.0 and faiss."""

import pytest
from measured import measure, show

pytestmark = [pytest.mark.perf, pytest.mark.timeout(1800)]

SCRIPT = "measure_ranking.py"
LEAST_SPEEDUP = 150
MOST_OF_FAISS = 2.0
MOST_MEMORY_MB = 1500


def test_speed(tmp_path):
    out = tmp_path / "speed.json"
    result = measure(SCRIPT, "speed", out, out=out)
    rows = [
        f"  {name:10} {result['seconds'][name]:9.3f} s   ({low:.3f} to {high:.3f})"
        for name, (low, high) in result["spread"].items()
    ]
    show(
        f"ranking and metrics, {result['threads']} threads, medians of {result['repeats']}",
        *rows,
        f"  look-bench / ours {result['look_bench_ratio']:.0f} (at least {LEAST_SPEEDUP})",
        f"  look-bench / faiss {result['look_bench_by_faiss']:.0f} (its search alone)",
        f"  ours / faiss {result['faiss_ratio']:.2f} (at most {MOST_OF_FAISS})",
        f"  order of ids, once a gallery: {result['order_seconds']:.3f} s",
    )
    assert 0.05 < result["hit@1"] < 0.95
    assert result["look_bench_ratio"] >= LEAST_SPEEDUP
    assert result["faiss_ratio"] <= MOST_OF_FAISS


def test_memory(tmp_path):
    out = tmp_path / "memory.json"
    result = measure(SCRIPT, "memory", out, out=out)
    show(
        "ranking and metrics, resident memory of the process",
        f"  before, inputs included {result['inputs_mb']:.0f} MB",
        f"  added by the step       {result['step_mb']:.0f} MB",
        f"  peak                    {result['peak_mb']:.0f} MB (below {MOST_MEMORY_MB})",
    )
    assert result["peak_mb"] < MOST_MEMORY_MB
