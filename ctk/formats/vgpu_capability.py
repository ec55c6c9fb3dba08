"""What a vGPU tells its guest in PCI configuration space: that it is one, and the host's driver; it opens no file.

Source: NVIDIA/k8s-device-plugin, internal/vgpu: a vendor-specific capability with the letters VF behind its head, then
records of one byte id, one byte length and the data; record 0 holds the host's driver version and its branch.
"""

from typing import NamedTuple

STATUS_AT, HAS_CAPABILITIES = 0x06, 0x10
FIRST_AT = 0x34
VENDOR_SPECIFIC = 0x09
WHOLE_BYTES = 256
SIGNATURE = b"VF"
SIGNATURE_AT, RECORDS_AT = 3, 5
TEXT_BYTES = 10


class VgpuHost(NamedTuple):
    """The driver of the machine below: 535.161.05, r535_00. Both "" when the capability does not tell."""

    version: str = ""
    branch: str = ""


def parse_vgpu_capability(config: bytes) -> VgpuHost | None:
    """None: this is no vGPU. ValueError: the configuration space is not there as a whole, which takes root to read."""
    if len(config) < WHOLE_BYTES:
        raise ValueError(f"only {len(config)} bytes of configuration space")
    capability = _vendor_capability(config)
    if capability[SIGNATURE_AT:RECORDS_AT] != SIGNATURE:
        return None
    place = RECORDS_AT
    while place + 2 <= len(capability):
        kind, length = capability[place], capability[place + 1]
        if kind == 0:
            return _host(capability[place + 2 : place + 2 + 2 * TEXT_BYTES])
        if length < 2:  # it would be read for ever
            break
        place += length
    return VgpuHost()


def _vendor_capability(config: bytes) -> bytes:
    """The first of its kind in the list of capabilities; empty when there is none."""
    if not config[STATUS_AT] & HAS_CAPABILITIES:
        return b""
    place, seen = config[FIRST_AT], set[int]()
    while place and place not in seen and place + 3 <= WHOLE_BYTES:
        seen.add(place)
        if config[place] == VENDOR_SPECIFIC:
            return config[place : place + config[place + 2]]
        place = config[place + 1]
    return b""


def _host(data: bytes) -> VgpuHost:
    texts = (data[:TEXT_BYTES], data[TEXT_BYTES:])
    return VgpuHost(*(text.partition(b"\0")[0].decode("ascii", "replace").strip() for text in texts))
