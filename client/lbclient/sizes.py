"""Numbers of bytes as people write and read them."""

import re

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_FACTORS = {
    "": 1,
    **{unit.lower(): 1024**power for power, unit in enumerate(_BINARY)},
    **{unit: 1000**power for power, unit in enumerate(("b", "kb", "mb", "gb", "tb"))},
}


def size_text(number: int) -> str:
    """`512 B`, `1.5 KiB`, `820 MiB`, `20 GiB`: three digits, units of 1024."""
    size, unit = float(number), 0
    while size >= 999.5 and unit < len(_BINARY) - 1:
        size, unit = size / 1024, unit + 1
    digits = 0 if unit == 0 or size >= 99.95 or size == int(size) else 1
    return f"{size:.{digits}f} {_BINARY[unit]}"


def size_from_text(text: str) -> int | None:
    """Bytes of `5GiB`, `500 MB` or `1024`; None when it is none of them."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    factor = _FACTORS.get(match[2]) if match else None
    return None if match is None or factor is None else round(float(match[1]) * factor)
