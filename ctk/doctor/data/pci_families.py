"""GPU generations by PCI device id, as far as the choice of kernel modules depends on them; a table, nothing else.

Source: the list of supported GPUs in the README of NVIDIA/open-gpu-kernel-modules (595.45.04: the lowest id is 1e02,
Turing), and NVIDIA's announcement of July 2024 that Grace Hopper and Blackwell need the open modules.
"""

DATE = "2026-09-01"

FIRST_OPEN_DEVICE = 0x1E00
"""Turing and later have the system processor that the open modules need; ids below are Volta and older."""

OPEN_ONLY_RANGES = ((0x2900, 0x29FF), (0x2B00, 0x2FFF), (0x3180, 0x31FF))
"""Blackwell: GB100 and GB102; GB20x and GB10; GB110."""

OPEN_ONLY_DEVICES = frozenset({0x2342, 0x2348})
"""Grace Hopper: GH200."""


def needs_open_modules(device_id: int) -> bool:
    """Whether the proprietary modules do not know this GPU."""
    return device_id in OPEN_ONLY_DEVICES or any(low <= device_id <= high for low, high in OPEN_ONLY_RANGES)


def needs_proprietary_modules(device_id: int) -> bool:
    """Whether the open modules do not know this GPU."""
    return device_id < FIRST_OPEN_DEVICE
