"""Kernel module files made up for tests: an ELF file with a .modinfo section, signed or not; no code is in them."""

import struct
from collections.abc import Mapping

MARK = b"~Module signature appended~\n"
VALUES = {
    "version": "580.95.05",
    "license": "Dual MIT/GPL",
    "srcversion": "8F63CE2B8A4FB02B14A4F4F",
    "vermagic": "6.1.0-21-amd64 SMP preempt mod_unload modversions ",
}


def make_module(values: Mapping[str, str] = VALUES, *, signature: bytes = b"", padding: int = 0) -> bytes:
    """padding: bytes of code before the section, as a large module has."""
    modinfo = b"".join(f"{name}={value}".encode() + b"\0" for name, value in values.items())
    names = b"\0.modinfo\0.shstrtab\0"
    start = 64 + padding
    table = start + len(modinfo) + len(names)
    ident = b"\x7fELF\x02\x01\x01" + b"\0" * 9
    head = ident + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 2)
    rows = b"\0" * 64
    rows += struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, start, len(modinfo), 0, 0, 1, 0)
    rows += struct.pack("<IIQQQQIIQQ", 10, 3, 0, 0, start + len(modinfo), len(names), 0, 0, 1, 0)
    return head + b"\x90" * padding + modinfo + names + rows + signature


def make_signature(
    issuer: str = "node7 Secure Boot Module Signature key", serial: bytes = b"\x4a\x01", kind: int = 2
) -> bytes:
    """What sign-file appends: PKCS#7 signed data, twelve bytes about it, and the mark."""
    message = make_pkcs7(issuer, serial)
    return message + struct.pack(">BBBBBxxxI", 0, 0, kind, 0, 0, len(message)) + MARK


def make_pkcs7(issuer: str, serial: bytes) -> bytes:
    """ContentInfo with one signer, named by issuer and serial number; the issuer also has an organisation."""
    organisation = der(0x31, der(0x30, der(0x06, bytes.fromhex("55040a")) + der(0x0C, b"Example")))
    common_name = der(0x31, der(0x30, der(0x06, bytes.fromhex("550403")) + der(0x0C, issuer.encode())))
    identity = der(0x30, der(0x30, organisation + common_name) + der(0x02, serial))
    signer = der(0x30, der(0x02, b"\x01") + identity + der(0x04, b"x" * 256))
    content = der(0x30, der(0x06, bytes.fromhex("2a864886f70d010701")))
    signed = der(0x30, der(0x02, b"\x01") + der(0x31, b"") + content + der(0x31, signer))
    return der(0x30, der(0x06, bytes.fromhex("2a864886f70d010702")) + der(0xA0, signed))


def der(tag: int, content: bytes) -> bytes:
    """One element, with a long length where it needs one."""
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content
