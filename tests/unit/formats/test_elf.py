"""What a library says of itself is read from gcc's own files, and a damaged one is told as such."""

import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctk.formats.elf import ElfFile, ElfNote, parse_elf, parse_notes, read_from, read_notes, read_section

SOURCE = 'int answer(void) { return 42; }\n__attribute__((section(".kept"))) char kept[] = "kept";\n'
NOTE = r"""
    .section .note.cuda.fwd_compatibility, "a", %note
    .long 19, 4, 1
    .asciz "NVIDIA Corporation"
    .balign 4
    .ascii "{}\n\n"
"""


def build(folder: Path, *flags: str, source: str = SOURCE, name: str = "libx.so") -> bytes:
    (folder / "x.c").write_text(source)
    (folder / "note.s").write_text(NOTE)
    target = folder / name
    command = ["gcc", *flags, "-o", str(target), str(folder / "x.c")]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return target.read_bytes()


@pytest.mark.real
def test_library_with_a_soname_and_a_need(tmp_path: Path) -> None:
    content = build(tmp_path, "-shared", "-fPIC", "-Wl,-soname,libx.so.1", "-Wl,--no-as-needed", "-lm")
    found = parse_elf(read_from(content))
    assert (found.bits, found.byte_order, found.type, found.soname) == (64, "little", "shared", "libx.so.1")
    assert found.needed == ("libm.so.6", "libc.so.6")
    assert found.machine in ("x86_64", "aarch64")


@pytest.mark.real
def test_library_without_a_soname_and_an_object(tmp_path: Path) -> None:
    assert parse_elf(read_from(build(tmp_path, "-shared", "-fPIC", "-nostdlib"))).soname is None
    found = parse_elf(read_from(build(tmp_path, "-c", name="x.o")))
    assert (found.type, found.soname, found.needed) == ("relocatable", None, ())


@pytest.mark.real
def test_sections_and_notes(tmp_path: Path) -> None:
    build(tmp_path, "-c", name="x.o")
    content = build(tmp_path, "-shared", "-fPIC", "-nostdlib", str(tmp_path / "note.s"))
    read = read_from(content)
    assert read_section(read, ".kept") == b"kept\0"
    assert read_section(read, ".missing") is None
    assert read_notes(read, ".note.cuda.fwd_compatibility") == (ElfNote("NVIDIA Corporation", 1, b"{}\n\n"),)
    assert read_notes(read, ".missing") == ()


@pytest.mark.real
def test_stripped_library_still_tells_its_soname(tmp_path: Path) -> None:
    content = build(tmp_path, "-shared", "-fPIC", "-s", "-Wl,-soname,libx.so.1")
    content = content[:40] + bytes(8) + content[48:58] + bytes(6) + content[64:]  # as without a section table at all
    assert parse_elf(read_from(content)).soname == "libx.so.1"
    assert read_section(read_from(content), ".kept") is None


def make_elf(*, bits: int, big: bool, machine: int, soname: bytes = b"libx.so.1") -> bytes:
    """The smallest file of the other classes, which the machine's gcc may not make."""
    order = "big" if big else "little"
    word = bits // 8

    def number(value: int, count: int) -> bytes:
        return value.to_bytes(count, order)  # type: ignore[arg-type] # one of the two words

    head = b"\x7fELF" + bytes([bits // 32, 2 if big else 1, 1]) + bytes(9)
    head += number(3, 2) + number(machine, 2) + number(1, 4) + number(0, word)
    head_bytes = 64 if bits == 64 else 52
    row = 56 if bits == 64 else 32
    head += number(head_bytes, word) + number(0, word) + number(0, 4) + number(head_bytes, 2)
    head += number(row, 2) + number(2, 2) + number(0, 2) * 3
    dynamic_at = head_bytes + 2 * row
    texts_at = dynamic_at + 6 * word
    dynamic = b"".join(number(value, word) for value in (14, 1, 5, 0x1000 + texts_at, 0, 0))
    content = b"\0" + soname + b"\0"
    total = texts_at + len(content)

    def segment(kind: int, offset: int, address: int, size: int) -> bytes:
        flags = number(4, 4)
        sizes = number(offset, word) + number(address, word) * 2 + number(size, word) * 2
        if bits == 64:
            return number(kind, 4) + flags + sizes + number(8, word)
        return number(kind, 4) + sizes + flags + number(8, word)

    rows = segment(1, 0, 0x1000, total) + segment(2, dynamic_at, 0x1000 + dynamic_at, len(dynamic))
    return head + rows + dynamic + content


@pytest.mark.parametrize(
    ("bits", "big", "machine", "word"),
    [(32, False, 3, "i386"), (64, False, 183, "aarch64"), (64, True, 22, "22"), (32, True, 20, "20")],
)
def test_other_classes_and_byte_orders(bits: int, big: bool, machine: int, word: str) -> None:
    found = parse_elf(read_from(make_elf(bits=bits, big=big, machine=machine)))
    assert found == ElfFile(bits, "big" if big else "little", word, "shared", "libx.so.1", ())


SOUND = make_elf(bits=64, big=False, machine=62)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"#!/bin/sh\n" * 10, "no ELF"),
        (SOUND[:20], "damaged"),
        (SOUND[:60], "cut short"),
        (SOUND[:200], "cut short"),
        (SOUND[:-1], "no end"),
        (SOUND[:4] + b"\7" + SOUND[5:], "damaged"),
        (SOUND[:56] + b"\xff\xff" + SOUND[58:], "damaged"),
        (SOUND[:54] + b"\1\0" + SOUND[56:], "damaged"),
    ],
)
def test_what_is_no_library_says_so(content: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_elf(read_from(content))


@given(st.lists(st.tuples(st.integers(0, len(SOUND) - 1), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4))
def test_damage_is_told_and_nothing_else_is_raised(damages: list[tuple[int, bytes]]) -> None:
    content = bytearray(SOUND)
    for place, damage in damages:
        content[place : place + len(damage)] = damage
    asked: list[tuple[int, int]] = []

    def read(offset: int, count: int) -> bytes:
        asked.append((offset, count))
        return bytes(content[offset : offset + count])

    with suppress(ValueError):
        assert parse_elf(read).bits in (32, 64)
    with suppress(ValueError):
        assert len(read_notes(read, ".note")) < len(content)
    assert max(count for _, count in asked) <= 1 << 20
    assert max(offset for offset, _ in asked) <= 1 << 48


def test_note_that_is_cut_short() -> None:
    with pytest.raises(ValueError, match="cut short"):
        parse_notes(b"\4\0\0\0\xff\0\0\0\1\0\0\0abc\0")
    assert parse_notes(b"") == ()
