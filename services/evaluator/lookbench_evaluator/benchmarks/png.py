"""Grey pixels as PNG, the same bytes with every library version.

Digests of contents are digests of these bytes, so the pixels are stored, not
compressed: what a compressor writes depends on its version.
"""

import struct
import zlib

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_STORED_BLOCK = 65535


def grey_png(pixels: bytes, height: int, width: int) -> bytes:
    """A PNG file of `pixels`, 8-bit grey, row by row (PNG specification, 3rd edition)."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(
        b"\0" + pixels[start : start + width] for start in range(0, height * width, width)
    )
    return b"".join(
        [_SIGNATURE, _chunk(b"IHDR", header), _chunk(b"IDAT", _stored(rows)), _chunk(b"IEND", b"")]
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


def _stored(data: bytes) -> bytes:
    """`data` as a zlib stream of stored blocks (RFC 1950, RFC 1951 section 3.2.4)."""
    blocks = []
    for start in range(0, len(data), _STORED_BLOCK):
        block = data[start : start + _STORED_BLOCK]
        last = start + _STORED_BLOCK >= len(data)
        blocks.append(struct.pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block)
    return b"\x78\x01" + b"".join(blocks) + struct.pack(">I", zlib.adler32(data))
