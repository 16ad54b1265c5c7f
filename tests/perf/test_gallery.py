"""A gallery of a million items in a file: bounded memory, linear time."""

import pytest
from measured import measure, show

pytestmark = [pytest.mark.perf, pytest.mark.timeout(1800)]
MOST_MEMORY_MB = 1000
MOST_TIMES = 11


def test_gallery(tmp_path):
    out = tmp_path / "gallery.json"
    result = measure("measure_gallery.py", out, tmp_path, out=out)
    show(
        "1,000 queries x 768, exact top 100 from a file",
        f"    100,000 items {result['small_s']:6.2f} s",
        f"  1,000,000 items {result['large_s']:6.2f} s, {result['ratio']:.1f} times as long "
        f"(at most {MOST_TIMES})",
        f"  peak {result['peak_mb']:.0f} MB (below {MOST_MEMORY_MB})",
    )
    assert result["ratio"] <= MOST_TIMES
    assert result["peak_mb"] < MOST_MEMORY_MB
