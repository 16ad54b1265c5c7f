"""Sizes as people write and read them."""

import pytest

from lbclient.sizes import size_from_text, size_text


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1024", 1024),
        ("5GiB", 5 * 2**30),
        ("5 gib", 5 * 2**30),
        ("500MB", 500_000_000),
        ("1.5KiB", 1536),
        ("2TB", 2 * 10**12),
    ],
)
def test_units_of_1000_and_1024_are_read(text, size):
    assert size_from_text(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1", "5 GiB left", "5XB", "1e9", "GiB"])
def test_anything_else_is_no_size(text):
    assert size_from_text(text) is None


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (820 * 2**20, "820 MiB"),
        (1023 * 2**20, "1.0 GiB"),
        (20 << 30, "20 GiB"),
        (5000 << 40, "5000 TiB"),
    ],
)
def test_sizes_are_short(size, text):
    assert size_text(size) == text
