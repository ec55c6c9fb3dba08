"""What an ELF file says of itself: machine, SONAME, needed libraries, sections and notes; it opens no file.

Layout: elf(5) and the System V ABI. What is read is bounded, so a hostile file costs little and is told as damaged.
"""

from collections.abc import Callable
from typing import NamedTuple

Read = Callable[[int, int], bytes]
"""(offset, count) -> that part of the file, shorter at its end."""

MACHINES = {3: "i386", 21: "ppc64le", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64", 258: "loongarch64"}
"""e_machine, in the words of uname -m."""
TYPES = {1: "relocatable", 2: "executable", 3: "shared", 4: "core"}
LOAD, DYNAMIC = 1, 2
NEEDED, STRING_TABLE, SONAME = 1, 5, 14
"""p_type and d_tag values."""
NO_CONTENT = 8
"""SHT_NOBITS: the section takes no room in the file."""
TABLE_LIMIT = 4096
SECTION_LIMIT_BYTES = 1 << 20
TEXT_LIMIT_BYTES = 4096
OFFSET_LIMIT = 1 << 48
"""pread(2) takes 63 bits, and an offset from a file is anything."""


class ElfFile(NamedTuple):
    """One file. machine: a word of uname -m, else the number. soname None: it has none, or is not linked at all."""

    bits: int
    byte_order: str  # "little" or "big"
    machine: str
    type: str
    soname: str | None = None
    needed: tuple[str, ...] = ()


class ElfNote(NamedTuple):
    """One entry of a note section."""

    name: str
    type: int
    content: bytes


class _Layout(NamedTuple):
    """The file header's numbers; widths of a word in the file's class."""

    bits: int
    big: bool
    type: int
    machine: int
    segments_at: int
    segment_bytes: int
    segment_count: int
    sections_at: int
    section_bytes: int
    section_count: int
    names_index: int

    def number(self, data: bytes, offset: int, count: int) -> int:
        if offset + count > len(data):
            raise ValueError("it is cut short")
        return int.from_bytes(data[offset : offset + count], "big" if self.big else "little")

    @property
    def word(self) -> int:
        return self.bits // 8


class _Segment(NamedTuple):
    type: int
    offset: int
    address: int
    size_bytes: int


def read_from(content: bytes) -> Read:
    """A reader for a file that is in memory."""
    return lambda offset, count: content[offset : offset + count]


def parse_elf(read: Read) -> ElfFile:
    """Headers and dynamic section. ValueError: it is no ELF file, or one that is damaged."""
    layout = _read_layout(read)
    soname, needed = _read_dynamic(read, layout)
    return ElfFile(
        bits=layout.bits,
        byte_order="big" if layout.big else "little",
        machine=MACHINES.get(layout.machine, str(layout.machine)),
        type=TYPES.get(layout.type, str(layout.type)),
        soname=soname,
        needed=needed,
    )


def read_section(read: Read, name: str) -> bytes | None:
    """A section's content, None when there is none of that name. ValueError: damaged, or larger than a megabyte."""
    layout = _read_layout(read)
    if not layout.section_count:
        return None
    rows = _read_exactly(read, layout.sections_at, layout.section_bytes * layout.section_count)
    names = _section_content(read, layout, rows, layout.names_index)
    wanted = name.encode() + b"\0"
    for index in range(layout.section_count):
        start = layout.number(rows, index * layout.section_bytes, 4)
        if names[start : start + len(wanted)] == wanted:
            return _section_content(read, layout, rows, index)
    return None


def read_notes(read: Read, section: str) -> tuple[ElfNote, ...]:
    """The notes of a section, none when it is not there. ValueError as above."""
    content = read_section(read, section)
    return () if content is None else parse_notes(content, big=_read_layout(read).big)


def parse_notes(content: bytes, *, big: bool = False) -> tuple[ElfNote, ...]:
    """Sizes of name and content, the type, then both, each padded to four bytes. ValueError: cut short."""
    notes = []
    position = 0
    while position + 12 <= len(content):
        sizes = [
            int.from_bytes(content[position + 4 * word : position + 4 * word + 4], "big" if big else "little")
            for word in range(3)
        ]
        name_at = position + 12
        body_at = name_at + _padded(sizes[0])
        if body_at + sizes[1] > len(content):
            raise ValueError("a note is cut short")
        name = content[name_at : name_at + sizes[0]].rstrip(b"\0").decode("utf-8", "replace")
        notes.append(ElfNote(name, sizes[2], content[body_at : body_at + sizes[1]]))
        position = body_at + _padded(sizes[1])
    return tuple(notes)


def _padded(size_bytes: int) -> int:
    return (size_bytes + 3) & ~3


def _read_layout(read: Read) -> _Layout:
    head = read(0, 64)
    if head[:4] != b"\x7fELF":
        raise ValueError("it is empty" if not head else "it is no ELF file")
    if len(head) < 52 or head[4] not in (1, 2) or head[5] not in (1, 2):
        raise ValueError("its ELF header is damaged")
    bits, big = 32 * head[4], head[5] == 2
    widths = (2, 2, 4, *[bits // 8] * 3, 4, 2, 2, 2, 2, 2, 2)
    numbers = []
    position = 16
    for width in widths:
        numbers.append(int.from_bytes(head[position : position + width], "big" if big else "little"))
        position += width
    if position > len(head):
        raise ValueError("it is cut short")
    kind, machine, _, _, segments_at, sections_at, _, _, segment_bytes, segments, section_bytes, sections, names = (
        numbers
    )
    layout = _Layout(
        bits=bits,
        big=big,
        type=kind,
        machine=machine,
        segments_at=segments_at,
        segment_bytes=segment_bytes,
        segment_count=segments,
        sections_at=sections_at,
        section_bytes=section_bytes,
        section_count=sections,
        names_index=names,
    )
    _check_tables(layout)
    return layout


def _check_tables(layout: _Layout) -> None:
    smallest = (56, 64) if layout.bits == 64 else (32, 40)
    for count, size, least in (
        (layout.segment_count, layout.segment_bytes, smallest[0]),
        (layout.section_count, layout.section_bytes, smallest[1]),
    ):
        if count > TABLE_LIMIT or (count and not least <= size <= 4 * least):
            raise ValueError("its ELF header is damaged")


def _read_exactly(read: Read, offset: int, count: int) -> bytes:
    content = _read_up_to(read, offset, count) if count else b""
    if len(content) < count:
        raise ValueError("it is cut short")
    return content


def _read_up_to(read: Read, offset: int, count: int) -> bytes:
    if offset > OFFSET_LIMIT:
        raise ValueError("it points behind any file's end")
    return read(offset, count)


def _section_content(read: Read, layout: _Layout, rows: bytes, index: int) -> bytes:
    start, word = index * layout.section_bytes, layout.word
    if layout.number(rows, start + 4, 4) == NO_CONTENT:
        return b""
    offset = layout.number(rows, start + 8 + 2 * word, word)
    size = layout.number(rows, start + 8 + 3 * word, word)
    if size > SECTION_LIMIT_BYTES:
        raise ValueError(f"a section of {size} bytes")
    return _read_exactly(read, offset, size)


def _read_segments(read: Read, layout: _Layout) -> list[_Segment]:
    rows = _read_exactly(read, layout.segments_at, layout.segment_bytes * layout.segment_count)
    word = layout.word
    offset_at = 8 if layout.bits == 64 else 4  # a 64-bit header has the flags in between
    segments = []
    for start in (index * layout.segment_bytes for index in range(layout.segment_count)):
        offset, address, _, size = (layout.number(rows, start + offset_at + index * word, word) for index in range(4))
        segments.append(_Segment(layout.number(rows, start, 4), offset, address, size))
    return segments


def _read_dynamic(read: Read, layout: _Layout) -> tuple[str | None, tuple[str, ...]]:
    segments = _read_segments(read, layout)
    dynamic = next((segment for segment in segments if segment.type == DYNAMIC), None)
    if dynamic is None:
        return None, ()
    if dynamic.size_bytes > SECTION_LIMIT_BYTES:
        raise ValueError(f"a dynamic section of {dynamic.size_bytes} bytes")
    content = _read_exactly(read, dynamic.offset, dynamic.size_bytes)
    tags = _parse_tags(layout, content)
    table = next((value for tag, value in tags if tag == STRING_TABLE), None)
    wanted = [(tag, value) for tag, value in tags if tag in (NEEDED, SONAME)]
    if not wanted:
        return None, ()
    if table is None:
        raise ValueError("its dynamic section has no string table")
    if len(wanted) > TABLE_LIMIT:
        raise ValueError("it needs too many libraries")
    place = _file_offset(segments, table)
    texts = [(tag, _read_text(read, place + value)) for tag, value in wanted]
    soname = next((text for tag, text in texts if tag == SONAME), None)
    return soname, tuple(text for tag, text in texts if tag == NEEDED)


def _parse_tags(layout: _Layout, content: bytes) -> list[tuple[int, int]]:
    tags = []
    word = layout.word
    for start in range(0, len(content) - 2 * word + 1, 2 * word):
        tag = layout.number(content, start, word)
        if not tag:
            break
        tags.append((tag, layout.number(content, start + word, word)))
    return tags


def _file_offset(segments: list[_Segment], address: int) -> int:
    """Where in the file an address of memory comes from."""
    for segment in segments:
        if segment.type == LOAD and segment.address <= address < segment.address + segment.size_bytes:
            return segment.offset + address - segment.address
    raise ValueError("its string table is in no segment")


def _read_text(read: Read, offset: int) -> str:
    text, end, _ = _read_up_to(read, offset, TEXT_LIMIT_BYTES).partition(b"\0")
    if not end:
        raise ValueError("a name in it has no end")
    return text.decode("utf-8", "replace")
