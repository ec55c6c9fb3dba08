"""The kernel side of NVIDIA's driver as /proc shows it, and the driver files on disk by their names; no I/O."""

from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown

OPEN, PROPRIETARY = "open", "proprietary"


class DriverParameter(NamedTuple):
    """One line of /proc/driver/nvidia/params: the name without NVreg_, the value as the driver prints it."""

    name: str
    value: str


class DriverGpu(NamedTuple):
    """One folder below /proc/driver/nvidia/gpus. None: the file has no such line, or the driver prints N/A or ??."""

    address: str  # normalised
    folder: str
    model: str | None | Unknown = None
    uuid: str | None | Unknown = None
    video_bios: str | None | Unknown = None
    firmware: str | None | Unknown = None  # the version of the GSP firmware in use
    minor: int | None | Unknown = None
    excluded: bool | None | Unknown = None
    numa_status: str | None | Unknown = None  # the Status line of numa_status; None: no such file
    dynamic_power: str | None | Unknown = None  # the "Runtime D3 status" line of the file power


class DriverCapability(NamedTuple):
    """One file below /proc/driver/nvidia/capabilities: path from there on ("mig/config"), the node's minor and mode."""

    path: str
    minor: int | None
    mode: int | None
    modify: bool | None = None


class DeviceMajor(NamedTuple):
    """A character device's name and major number in /proc/devices."""

    name: str
    major: int


class DriverLibrary(NamedTuple):
    """A user library that carries the driver's version in its file name."""

    name: str  # libnvidia-ml.so or libcuda.so
    path: str
    version: str
    linked: bool = False  # the folder's .so.1 link leads to this file
    modified_at: str | None = None  # RFC 3339, UTC


class FirmwareFolder(NamedTuple):
    """A folder below a firmware search path whose name is a driver version, and the names in it."""

    version: str
    path: str
    files: tuple[str, ...]


class DriverTrace(NamedTuple):
    """Something that shows that a driver is, or was, meant to be here: a file's path and what it stands for.

    kind: runfile, container (a driver root of the GPU Operator), vendor (a cloud image's own folder) or tool.
    """

    kind: str
    path: str


class DriverPackage(NamedTuple):
    """An installed package that brings the driver; source: where that was read."""

    name: str
    version: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """The driver's own account of itself. version None: the module is not loaded, or is no NVRM driver."""

    version: str | None | Unknown = None
    flavour: str | None | Unknown = None  # OPEN or PROPRIETARY
    banner: str | None | Unknown = None  # the NVRM version line
    compiler: str | None | Unknown = None  # the GCC version line
    parameters: tuple[DriverParameter, ...] | None | Unknown = None
    gpus: tuple[DriverGpu, ...] | None | Unknown = None
    capabilities: tuple[DriverCapability, ...] | None | Unknown = None
    majors: tuple[DeviceMajor, ...] | Unknown = ()
    libraries: tuple[DriverLibrary, ...] | Unknown = ()
    root_libraries: tuple[DriverLibrary, ...] | None | Unknown = None  # in a driver container's root, if there is one
    firmware: tuple[FirmwareFolder, ...] | Unknown = ()
    firmware_search: tuple[str, ...] = ()  # the folders the kernel looks in, in order
    traces: tuple[DriverTrace, ...] | Unknown = ()
    packages: tuple[DriverPackage, ...] | None | Unknown = None  # None: not asked, NVIDIA's installer was not here
    udev_rules: tuple[str, ...] | Unknown = ()  # files of rules that have the device nodes made at boot
    modprobe_path: str | None | Unknown = None  # nvidia-modprobe
    modprobe_setuid: bool | Unknown = False

    def find_parameter(self, name: str) -> str | None:
        """The value of a parameter, whatever the case of its name; None when it is not listed."""
        if not isinstance(self.parameters, tuple):
            return None
        return next((row.value for row in self.parameters if row.name.lower() == name.lower()), None)

    def find_major(self, *names: str) -> int | None:
        """The major number of the first of these names that has one."""
        if isinstance(self.majors, Unknown):
            return None
        return next((row.major for name in names for row in self.majors if row.name == name), None)
