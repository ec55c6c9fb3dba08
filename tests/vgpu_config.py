"""PCI configuration space as a vGPU's guest sees it, made up; for tests of what is read from it."""

CAPABILITY_AT = 0x68


def make_vgpu_config(version: str | None, branch: str, before: bytes = b"") -> bytes:
    """256 bytes with a message-interrupt capability, then the vGPU's own. version None: it names no driver."""
    config = bytearray(256)
    config[0x00:0x04] = b"\xde\x10\xb8\x1e"
    config[0x06] = 0x10
    config[0x34] = 0x50
    config[0x50:0x53] = bytes((0x05, CAPABILITY_AT, 0))
    records = before
    if version is not None:
        texts = version.encode().ljust(10, b"\0") + branch.encode().ljust(10, b"\0")
        records += b"\x00" + bytes((len(texts) + 2,)) + texts
    capability = b"\x09\x00" + bytes((5 + len(records),)) + b"VF" + records
    config[CAPABILITY_AT : CAPABILITY_AT + len(capability)] = capability
    return bytes(config)
