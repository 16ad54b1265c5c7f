"""Decoding: in threads or processes, and beside a server. Recorded, only the gist asserted."""

import pytest
from measured import measure, show

pytestmark = [pytest.mark.perf, pytest.mark.timeout(1800)]
SELF_CHECK_S = 1.0


def test_pools(tmp_path):
    out = tmp_path / "pools.json"
    result = measure("measure_decoding.py", "pools", out, out=out)
    lines = [
        f"  {pictures}, {preset}: "
        + ", ".join(
            f"{pool} {r['median']:.0f} ({r['lowest']:.0f} to {r['highest']:.0f})"
            for pool, r in pools.items()
        )
        for pictures, presets in result.items()
        for preset, pools in presets.items()
    ]
    show("pictures prepared a second, medians of 7", *lines)
    for presets in result.values():
        for pools in presets.values():
            assert pools["2 threads"]["median"] >= 0.9 * pools["2 processes"]["median"]


def test_shortcuts(tmp_path):
    out = tmp_path / "shortcuts.json"
    result = measure("measure_decoding.py", "shortcuts", out, out=out)
    show(
        "shortcuts that are not taken: draft mode (lookbench), the crop alone (native)",
        *(
            f"  {name}: {r['exact_ms']:.2f} ms becomes {r['faster_ms']:.2f} ms, "
            f"{r['values_changed']:.3%} of values change by up to {r['largest_difference']}, "
            f"in {r['pictures_changed']:.0%} of pictures"
            for name, r in result.items()
        ),
    )


def test_pipeline(tmp_path):
    out = tmp_path / "pipeline.json"
    result = measure("measure_pipeline.py", out, out=out)
    checked = result.pop("self-check")
    lines = [
        f"  {where}, {how}: {r['pictures a second']:.0f} a second, decoding "
        f"{r['decoding, core seconds a second']:.2f} cores, server idle {r['server idle']:.1%}, "
        f"nothing asked {r['nothing asked']:.1%}"
        for where, ways in result.items()
        for how, r in ways.items()
    ]
    show(
        "encoded pictures embedded, medians of 5",
        *lines,
        f"  self-check of efficientnet-lite0: {checked['median']:.2f} s, at first "
        f"{checked['first']:.2f} s (below {SELF_CHECK_S} s)",
    )
    assert checked["median"] < SELF_CHECK_S
