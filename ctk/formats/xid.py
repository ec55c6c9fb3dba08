"""The kernel log's lines about GPU and NVSwitch faults, Xid and SXid, as values; pure, and it reads no log."""

import re
from typing import NamedTuple

# NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.
# The address may be followed by a MIG instance, and old drivers leave "PCI:" out (NVIDIA, Xid errors, section 2).
XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)[^)]*\): (\d{1,5}),? ?(.*)")
# nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO (First)
# (NVIDIA Fabric Manager user guide, appendix on NVSwitch errors)
SXID = re.compile(r"SXid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d{1,6}),? ?(.*)")
PID = re.compile(r"pid='?(\d+)")
NAME = re.compile(r"name=([^,]+)")
LINK = re.compile(r"Link (\d+)")
# 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 …): 144 to 150 say in words whether they are fatal.
NVLINK_CODES = range(144, 151)
# 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)
RECOVERY_ACTION = re.compile(r"changed from 0x[0-9a-fA-F]+ \([^)]*\) to 0x([0-9a-fA-F]+)")
FATAL, NONFATAL = "fatal", "non-fatal"
GRAVE_CODES = frozenset(
    (
        *(46, 48, 54, 62, 64, 74, 79, 81, 95, 109, 110, 119, 120, 122, 123, 124, 136, 140, 143),
        *(*NVLINK_CODES, 155, 157, 158, 161, 165, 167, 168, 169, 171, 172),
    )
)
"""Those that take a reset, a reboot or a repair: what the doctor's table calls driver or hardware."""


class XidLine(NamedTuple):
    """One Xid or SXid. address as printed; weight: FATAL or NONFATAL where the line says so, else ""."""

    is_switch: bool
    address: str
    code: int
    text: str
    weight: str = ""
    pid: int | None = None
    process: str | None = None
    link: int | None = None


def parse_xid(text: str) -> XidLine | None:
    """The event a line tells of; None for any other line."""
    found = XID.search(text)
    if found is not None:
        address, code, rest = found[1], int(found[2]), found[3].strip()
        weight = weight_of(rest) if code in NVLINK_CODES else ""
        return XidLine(False, address, code, rest, weight, _pid(rest), _name(rest), _link(rest))
    found = SXID.search(text)
    if found is None:
        return None
    rest = found[3].strip()
    return XidLine(True, found[1], int(found[2]), rest, weight_of(rest), link=_link(rest))


def weight_of(text: str) -> str:
    """FATAL or NONFATAL, as the line says it; "" where it says neither."""
    lowered = text.lower()
    if "non-fatal" in lowered or "nonfatal" in lowered:
        return NONFATAL
    return FATAL if re.search(r"\bfatal\b", lowered) else ""


def parse_recovery_action(text: str) -> int | None:
    """The number of the action that Xid 154 changed to: 0 none, 1 reset, 2 reboot, 3 drain, 4 drain and reset."""
    found = RECOVERY_ACTION.search(text)
    return int(found[1], 16) if found else None


def _pid(text: str) -> int | None:
    found = PID.search(text)
    return int(found[1]) if found else None


def _name(text: str) -> str | None:
    found = NAME.search(text)
    return found[1].strip().strip("'") if found and "<unknown>" not in found[1] else None


def _link(text: str) -> int | None:
    found = LINK.search(text)
    return int(found[1]) if found else None
