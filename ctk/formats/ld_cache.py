"""The loader's cache of libraries, /etc/ld.so.cache, from bytes to entries; it opens no file and runs no ldconfig.

The layout is that of glibc's sysdeps/generic/dl-cache.h: an old block (ld.so-1.7.0), the new one
(glibc-ld.so.cache1.1), or the new one behind an old one. Offsets of names count from the start of their block.
"""

import struct
from typing import NamedTuple

OLD_MAGIC = b"ld.so-1.7.0"
NEW_MAGIC = b"glibc-ld.so.cache1.1"
OLD_HEAD_BYTES, OLD_ENTRY_BYTES = 16, 12
NEW_HEAD_BYTES, NEW_ENTRY_BYTES = 48, 24
BLOCK_ALIGNMENT = 8
"""ALIGN_CACHE: the new block starts at a multiple of this, behind the old one's entries."""
BYTE_ORDER_AT = 28
BIG_ENDIAN, INVALID = 3, 1
"""cache_file_new_flags_endian_*; 0 is a cache of a glibc before 2.33, which does not say, 2 is little."""

TEXT_LIMIT_BYTES = 4096
"""PATH_MAX: a longer name can be no path."""
ELF_TYPES = (1, 2, 3)
"""FLAG_ELF, FLAG_ELF_LIBC5, FLAG_ELF_LIBC6: the low byte of the flags (glibc's sysdeps/generic/ldconfig.h)."""
ARCHITECTURES = {
    0x0000: "i386",
    0x0300: "x86_64",
    0x0400: "s390x",
    0x0500: "ppc64le",
    0x0800: "x32",
    0x0900: "armhf",
    0x0A00: "aarch64",
    0x1000: "riscv64",
    0x1200: "loongarch64",
}
"""The high byte, for the machines that say which they are; 0 is every other one, of which only i386 has a driver."""
NARROW = ("i386", "x32", "armhf")


class LdCacheEntry(NamedTuple):
    """One library: its SONAME (or file name), its path, and for whom it is. hwcap: what the processor must have."""

    name: str
    path: str
    flags: int
    hwcap: int = 0

    @property
    def is_elf(self) -> bool:
        """Not one of libc 4, which no program of today can load."""
        return self.flags & 0xFF in ELF_TYPES

    @property
    def architecture(self) -> str:
        """As uname -m spells it where there is such a word; the number for one that is not known."""
        return ARCHITECTURES.get(self.flags & 0xFF00, f"{self.flags & 0xFF00:#06x}")

    @property
    def bits(self) -> int:
        """32 or 64."""
        return 32 if self.architecture in NARROW else 64


class LdCache(NamedTuple):
    """The entries that were asked for, in the file's order. total: how many there are."""

    format: str  # "1.1" or "1.7.0"
    total: int
    entries: tuple[LdCacheEntry, ...]


class _Block(NamedTuple):
    start: int
    head_bytes: int
    entry_bytes: int
    total: int
    texts_at: int


def parse_ld_cache(data: bytes, prefixes: tuple[str, ...] = ("",)) -> LdCache:
    """The entries whose name starts with one of the prefixes. ValueError: it is no cache, or one that is damaged.

    Work and memory stay within a small multiple of the file's size, whatever the offsets in it say.
    """
    block = _find_block(data)
    wanted = tuple(prefix.encode() for prefix in prefixes)
    rows = memoryview(data)[block.start + block.head_bytes :][: block.total * block.entry_bytes]
    budget = 2 * len(data) + TEXT_LIMIT_BYTES
    texts: dict[int, str] = {}
    entries = []
    for row in struct.iter_unpack("<3I" if block.entry_bytes == OLD_ENTRY_BYTES else "<4IQ", rows):
        name_at = block.texts_at + row[1]
        if name_at >= len(data):
            raise ValueError("a name lies behind the end of the file")
        if not data.startswith(wanted, name_at):
            continue
        for offset in (name_at, block.texts_at + row[2]):
            if offset not in texts:
                texts[offset] = _read_text(data, offset)
                budget -= len(texts[offset])
        if budget < 0:
            raise ValueError("its names overlap")
        hwcap = row[4] if len(row) > 4 else 0
        entries.append(LdCacheEntry(texts[name_at], texts[block.texts_at + row[2]], row[0], hwcap))
    return LdCache("1.7.0" if block.entry_bytes == OLD_ENTRY_BYTES else "1.1", block.total, tuple(entries))


def _find_block(data: bytes) -> _Block:
    if data.startswith(NEW_MAGIC):
        return _new_block(data, 0)
    if not data.startswith(OLD_MAGIC):
        raise ValueError("it is no cache of the loader" if data else "it is empty")
    if len(data) < OLD_HEAD_BYTES:
        raise ValueError("it is cut short")
    count = int.from_bytes(data[12:16], "little")
    end = OLD_HEAD_BYTES + count * OLD_ENTRY_BYTES
    behind = -(-end // BLOCK_ALIGNMENT) * BLOCK_ALIGNMENT
    if data.startswith(NEW_MAGIC, behind):
        return _new_block(data, behind)
    if end > len(data):
        raise ValueError(_too_short(count, int.from_bytes(data[12:16], "big"), len(data), OLD_ENTRY_BYTES))
    return _Block(0, OLD_HEAD_BYTES, OLD_ENTRY_BYTES, count, end)


def _new_block(data: bytes, start: int) -> _Block:
    if len(data) < start + NEW_HEAD_BYTES:
        raise ValueError("it is cut short")
    order = data[start + BYTE_ORDER_AT] & 3
    if order == BIG_ENDIAN:
        raise ValueError("it was written for a big-endian machine")
    if order == INVALID:
        raise ValueError("it is marked as invalid")
    count = int.from_bytes(data[start + 20 : start + 24], "little")
    if start + NEW_HEAD_BYTES + count * NEW_ENTRY_BYTES > len(data):
        turned = int.from_bytes(data[start + 20 : start + 24], "big")
        raise ValueError(_too_short(count, turned, len(data), NEW_ENTRY_BYTES))
    return _Block(start, NEW_HEAD_BYTES, NEW_ENTRY_BYTES, count, start)


def _too_short(count: int, turned: int, size_bytes: int, entry_bytes: int) -> str:
    """A count that only makes sense with its bytes turned is a big-endian machine's."""
    if turned and turned * entry_bytes <= size_bytes:
        return "it was written for a big-endian machine"
    return f"it is cut short: {count} entries do not fit into {size_bytes} bytes"


def _read_text(data: bytes, offset: int) -> str:
    end = data.find(b"\0", offset, offset + TEXT_LIMIT_BYTES + 1)
    if end < 0:
        raise ValueError("a name or path in it has no end")
    return data[offset:end].decode("utf-8", "surrogateescape")
