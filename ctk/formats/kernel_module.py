"""What a kernel module's file says of itself: its .modinfo section and the signature behind it; it opens no file."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

Read = Callable[[int, int], bytes]
"""(offset, count) -> that part of the file, shorter at its end."""

SIGNATURE_MARK = b"~Module signature appended~\n"
SIGNATURE_FIELDS_BYTES = 12
PKCS7 = 2
"""include/linux/module_signature.h: the file's end is the signature, these 12 bytes about it, and the mark."""

SECTION_LIMIT_BYTES = 1 << 20
SECTION_ENTRY_BYTES = 64
COMMON_NAME = bytes.fromhex("550403")
SEQUENCE, SET, INTEGER, CONTEXT_0 = 0x30, 0x31, 0x02, 0xA0


class ModuleSignature(NamedTuple):
    """Who signed it. signer is the common name of the key's issuer, key its serial number; None: not stated."""

    signer: str | None = None
    key: str | None = None


class ModuleInfo(NamedTuple):
    """The values of .modinfo, the first of each name, and the signature (None: unsigned)."""

    values: Mapping[str, str]
    signature: ModuleSignature | None


class DerItem(NamedTuple):
    """One element of DER: its tag, and where its content starts and ends."""

    tag: int
    start: int
    end: int


def parse_module_file(read: Read, size_bytes: int) -> ModuleInfo:
    """The whole of it. ValueError: no 64-bit ELF file, or one that is cut short."""
    return ModuleInfo(parse_module_values(read_section(read, b".modinfo")), read_signature(read, size_bytes))


def parse_module_values(section: bytes) -> dict[str, str]:
    """NUL-terminated name=value texts; of a name that is there twice (alias, parm) the first counts."""
    values: dict[str, str] = {}
    for item in section.split(b"\0"):
        name, equals, value = item.decode("utf-8", "replace").partition("=")
        if equals:
            values.setdefault(name, value)
    return values


def find_section(read: Read, name: bytes) -> tuple[int, int]:
    """(offset, size) of a section, (0, 0) when there is none: elf(5)."""
    head = read(0, 64)
    if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no 64-bit little-endian ELF file")
    table, entry, count = _number(head, 40, 8), _number(head, 58, 2), _number(head, 60, 2)
    if entry != SECTION_ENTRY_BYTES or not count:
        raise ValueError("it has no section table")
    rows = read(table, entry * count)
    if len(rows) < entry * count:
        raise ValueError("it is cut short")
    name_row = _number(head, 62, 2) * entry
    names = _read_section_at(read, _number(rows, name_row + 24, 8), _number(rows, name_row + 32, 8))
    for row in range(0, entry * count, entry):
        start = _number(rows, row, 4)
        if names[start : start + len(name) + 1] == name + b"\0":
            return _number(rows, row + 24, 8), _number(rows, row + 32, 8)
    return 0, 0


def read_section(read: Read, name: bytes) -> bytes:
    """A section's content, empty when there is none."""
    return _read_section_at(read, *find_section(read, name))


def _read_section_at(read: Read, offset: int, size_bytes: int) -> bytes:
    if size_bytes > SECTION_LIMIT_BYTES:
        raise ValueError(f"a section of {size_bytes} bytes")
    content = read(offset, size_bytes) if size_bytes else b""
    if len(content) < size_bytes:
        raise ValueError("it is cut short")
    return content


def _number(data: bytes, offset: int, count: int) -> int:
    return int.from_bytes(data[offset : offset + count], "little")


def read_signature(read: Read, size_bytes: int) -> ModuleSignature | None:
    """The signature at the file's end; one of a kind or size that is not understood has neither signer nor key."""
    tail_bytes = len(SIGNATURE_MARK) + SIGNATURE_FIELDS_BYTES
    if size_bytes < tail_bytes:
        return None
    tail = read(size_bytes - tail_bytes, tail_bytes)
    if not tail.endswith(SIGNATURE_MARK):
        return None
    length = int.from_bytes(tail[8:12], "big")
    start = size_bytes - tail_bytes - length
    if tail[2] != PKCS7 or start < 0 or length > SECTION_LIMIT_BYTES:
        return ModuleSignature()
    try:
        return parse_pkcs7_signer(read(start, length))
    except (ValueError, IndexError):
        return ModuleSignature()


def parse_pkcs7_signer(message: bytes) -> ModuleSignature:
    """Issuer and serial number of the first signer: RFC 5652, SignedData. ValueError: it is none."""
    signed_data = _first(message, _first(message, DerItem(0, 0, len(message)), SEQUENCE), CONTEXT_0)
    parts = _items(message, _first(message, signed_data, SEQUENCE))
    signers = [part for part in parts if part.tag == SET]
    if len(signers) < 2:  # the first set holds the digest algorithms
        raise ValueError("it names no signer")
    fields = _items(message, _first(message, signers[-1], SEQUENCE))
    identity = next((field for field in fields if field.tag == SEQUENCE), None)
    if identity is None:  # the key is given by its identifier alone
        raise ValueError("it names no issuer")
    issuer = _first(message, identity, SEQUENCE)
    serial = _first(message, identity, INTEGER)
    return ModuleSignature(_common_name(message, issuer), message[serial.start : serial.end].hex())


def _common_name(message: bytes, name: DerItem) -> str | None:
    for group in _items(message, name):
        for pair in _items(message, group):
            parts = _items(message, pair)
            if len(parts) == 2 and message[parts[0].start : parts[0].end] == COMMON_NAME:
                return message[parts[1].start : parts[1].end].decode("utf-8", "replace")
    return None


def _first(data: bytes, parent: DerItem, tag: int) -> DerItem:
    for item in _items(data, parent):
        if item.tag == tag:
            return item
    raise ValueError(f"no element {tag:#x}")


def _items(data: bytes, parent: DerItem) -> list[DerItem]:
    """The elements inside one, by X.690's definite lengths."""
    items = []
    position = parent.start
    while position < parent.end:
        tag, length = data[position], data[position + 1]
        position += 2
        if length & 0x80:
            count = length & 0x7F
            length = int.from_bytes(data[position : position + count], "big")
            position += count
        if position + length > parent.end:
            raise ValueError("an element is longer than what holds it")
        items.append(DerItem(tag, position, position + length))
        position += length
    return items
