"""Caches of the loader as bytes, in the layouts of glibc's sysdeps/generic/dl-cache.h; it parses none."""

import struct

Row = tuple[str, str, int]
"""Name, path, flags."""


def make_ld_cache(*rows: Row) -> bytes:
    """glibc-ld.so.cache1.1, little-endian, without extensions. Offsets count from its start."""
    start = 48 + 24 * len(rows)
    texts, places = _texts(rows, start)
    head = b"glibc-ld.so.cache1.1" + struct.pack("<IIB3xI12x", len(rows), len(texts), 2, 0)
    entries = [
        struct.pack("<4IQ", flags, places[2 * index], places[2 * index + 1], 0, 0)
        for index, (_, _, flags) in enumerate(rows)
    ]
    return head + b"".join(entries) + texts


def make_old_ld_cache(*rows: Row, texts: bool = False) -> bytes:
    """ld.so-1.7.0, padded to where a new block may follow; with its own texts when it stands alone."""
    content, places = _texts(rows, 0)
    head = b"ld.so-1.7.0\0" + struct.pack("<I", len(rows))
    entries = [
        struct.pack("<3I", flags, places[2 * index], places[2 * index + 1]) for index, (_, _, flags) in enumerate(rows)
    ]
    block = head + b"".join(entries)
    return block + content if texts else block + bytes(-len(block) % 8)


def _texts(rows: tuple[Row, ...], start: int) -> tuple[bytes, list[int]]:
    content = b""
    places = []
    for name, path, _ in rows:
        for text in (name, path):
            places.append(start + len(content))
            content += text.encode() + b"\0"
    return content, places
