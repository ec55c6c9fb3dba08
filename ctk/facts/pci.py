"""NVIDIA's functions on the PCI bus and the ports above them, as sysfs shows them; no I/O."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown

NVIDIA = 0x10DE
GPU_CLASSES = (0x0300, 0x0302, 0x0380)
"""VGA controller, 3D controller, other display controller: the upper 16 bits of a function's class (PCI-SIG)."""
AUDIO_CLASS = 0x0403
SWITCH_CLASS = 0x0680
"""Other bridge: what an NVSwitch of the Volta to Hopper generations calls itself."""

ADDRESS = re.compile(r"(?i)(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-7]))?")


def normalize_address(text: str) -> str:
    """One spelling of a PCI address, 0000:3b:00.0; a text that is none comes back in lower case.

    NVML writes the domain with eight digits, the kernel log leaves the function out, and the driver's folders below
    /proc hold the lower 16 bits of a wider domain (a virtual machine of Hyper-V has such): those 16 bits are kept.
    """
    found = ADDRESS.fullmatch(text.strip())
    if found is None:
        return text.strip().lower()
    domain, bus, device, function = found.groups()
    return f"{int(domain or '0', 16) & 0xFFFF:04x}:{int(bus, 16):02x}:{int(device, 16):02x}.{function or '0'}"


class PciRegion(NamedTuple):
    """One line of sysfs' `resource`: number 0-5 are the BARs, 6 the ROM; start 0 with flags: no address was given."""

    number: int
    start: int
    end: int
    flags: int

    @property
    def size_bytes(self) -> int:
        """0 for an unused line."""
        return self.end - self.start + 1 if self.flags and self.end >= self.start else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PciFunction:
    """One function. Speeds are in MT/s (16.0 GT/s is 16000); error counts are totals since the device appeared."""

    address: str  # 0000:3b:00.0, normalised
    folder: str  # its folder on the host, /sys/bus/pci/devices/0000:3b:00.0
    vendor_id: int
    device_id: int
    class_code: int  # 24 bits: 0x030200
    subsystem_vendor_id: int | None | Unknown = None
    subsystem_device_id: int | None | Unknown = None
    revision: int | None | Unknown = None
    driver: str | None | Unknown = None  # None: no driver is bound
    driver_override: str | None | Unknown = None
    current_link_width: int | None | Unknown = None
    max_link_width: int | None | Unknown = None
    current_link_speed: int | None | Unknown = None
    max_link_speed: int | None | Unknown = None
    power_state: str | None | Unknown = None  # D0, D3hot, D3cold, unknown
    runtime_status: str | None | Unknown = None  # active, suspended …
    runtime_control: str | None | Unknown = None  # auto or on
    numa_node: int | None | Unknown = None  # -1: the firmware does not say
    iommu_group: int | None | Unknown = None
    regions: tuple[PciRegion, ...] | None | Unknown = None
    config_head: str | None | Unknown = None  # the first 64 bytes of configuration space, as hex digits
    correctable_errors: int | None | Unknown = None
    nonfatal_errors: int | None | Unknown = None
    fatal_errors: int | None | Unknown = None
    virtual_functions: int | None | Unknown = None  # enabled ones; None: no SR-IOV
    max_virtual_functions: int | None | Unknown = None
    physical_function: str | None | Unknown = None  # the address of the function this one is a virtual one of
    upstream: str | None = None  # the address of the port above it; None: a root bus, or not known

    @property
    def is_gpu(self) -> bool:
        """A display or 3D controller of NVIDIA's."""
        return self.vendor_id == NVIDIA and self.class_code >> 8 in GPU_CLASSES

    @property
    def is_audio(self) -> bool:
        """The sound function of a graphics card."""
        return self.vendor_id == NVIDIA and self.class_code >> 8 == AUDIO_CLASS

    @property
    def is_switch(self) -> bool:
        """An NVSwitch."""
        return self.vendor_id == NVIDIA and self.class_code >> 8 == SWITCH_CLASS


@dataclass(frozen=True, slots=True, kw_only=True)
class Pci:
    """All functions of NVIDIA's, by address, and the ports above the GPUs."""

    functions: tuple[PciFunction, ...] = ()
    ports: tuple[PciFunction, ...] = ()
    product: str | None | Unknown = None  # what the firmware calls the machine
    unreadable: tuple[str, ...] = ()  # addresses of functions whose vendor could not be read

    @property
    def gpus(self) -> tuple[PciFunction, ...]:
        """The GPUs, virtual functions included."""
        return tuple(function for function in self.functions if function.is_gpu)

    @property
    def switches(self) -> tuple[PciFunction, ...]:
        """The NVSwitches."""
        return tuple(function for function in self.functions if function.is_switch)

    def find_port(self, address: str | None) -> PciFunction | None:
        """The port with this address."""
        return next((port for port in self.ports if port.address == address), None)
