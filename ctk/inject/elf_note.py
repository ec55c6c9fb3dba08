"""Finds one section of notes in a library of an image; bounded, since the file may be anything.

ctk.formats.elf knows more, and takes as long to load as half of a hook's work; most CUDA images have a library to be
looked at, so this runs at every start of theirs. A test holds the two against each other.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in ctk.inject.options
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEAD_BYTES, ROW_BYTES = 64, 64
ROWS_LIMIT = 4096
SECTION_LIMIT_BYTES = 1 << 20
OFFSET_LIMIT = 1 << 48
"""pread(2) takes 63 bits, and an offset from a file is anything."""
NO_CONTENT = 8
"""SHT_NOBITS: elf(5), as all offsets here."""


def read_notes(read: Callable[[int, int], bytes], name: bytes) -> list[tuple[bytes, bytes]]:
    """(owner, content) of each note in a section. ValueError: no 64-bit little-endian ELF file, or a damaged one."""
    head = read(0, HEAD_BYTES)
    if len(head) < HEAD_BYTES or head[:6] != b"\x7fELF\x02\x01":
        raise ValueError("it is no 64-bit ELF file")
    count, names_index = _number(head, 60, 2), _number(head, 62, 2)
    if not count:
        return []
    if count > ROWS_LIMIT or _number(head, 58, 2) != ROW_BYTES:
        raise ValueError("its ELF header is damaged")
    rows = _exactly(read, _number(head, 40, 8), count * ROW_BYTES)
    names = _content(read, rows, names_index * ROW_BYTES)
    for row in range(0, len(rows), ROW_BYTES):
        start = _number(rows, row, 4)
        if names[start : start + len(name) + 1] == name + b"\0":
            return list(_notes(_content(read, rows, row)))
    return []


def _notes(section: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Sizes of owner and content, a type, then both, each padded to four bytes."""
    position = 0
    while position + 12 <= len(section):
        owner_bytes, content_bytes = _number(section, position, 4), _number(section, position + 4, 4)
        content_at = position + 12 + _padded(owner_bytes)
        if content_at + content_bytes > len(section):
            raise ValueError("a note is cut short")
        owner = section[position + 12 : position + 12 + owner_bytes].rstrip(b"\0")
        yield owner, section[content_at : content_at + content_bytes]
        position = content_at + _padded(content_bytes)


def _content(read: Callable[[int, int], bytes], rows: bytes, row: int) -> bytes:
    if row >= len(rows):
        raise ValueError("its ELF header is damaged")
    if _number(rows, row + 4, 4) == NO_CONTENT:
        return b""
    return _exactly(read, _number(rows, row + 24, 8), _number(rows, row + 32, 8))


def _exactly(read: Callable[[int, int], bytes], offset: int, count: int) -> bytes:
    if count > SECTION_LIMIT_BYTES or offset > OFFSET_LIMIT:
        raise ValueError(f"a part of {count} bytes at {offset}")
    content = read(offset, count) if count else b""
    if len(content) < count:
        raise ValueError("it is cut short")
    return content


def _number(data: bytes, offset: int, count: int) -> int:
    return int.from_bytes(data[offset : offset + count], "little")


def _padded(size_bytes: int) -> int:
    return (size_bytes + 3) & ~3
