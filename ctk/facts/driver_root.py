"""What lies below a driver root and a dev root, and the GPUs behind it: all that a CDI spec is made of; no I/O.

Paths are as a process sees them that has the root as its "/": without the root in front. None = looked, not there;
Unknown = could not look. These records are for `cdi generate`, which is measured, so they cost little to define.
"""

from ctk.facts import Unknown
from ctk.record import Record


class DeviceFile(Record):
    """A device node below the dev root. mode: the permission bits;"""

    path: str
    major: int
    minor: int
    mode: int
    uid: int = 0
    gid: int = 0


class FileLink(Record):
    """A symbolic link: where it lies, and the text in it."""

    path: str
    text: str


class FoundFile(Record):
    """A file, or folder, of the driver root. source: the path to take it from, path: where a process looks for it.

    The two differ where links on the way would lead elsewhere when they are followed from outside the root.
    of_host: source is a path of the host itself, not below the driver root.
    """

    path: str
    source: str
    of_host: bool = False


class LibraryFile(Record):
    """A library by its final real file. links: links beside it that lead to it, the nearer first (libcuda.so.1, …)."""

    path: str
    soname: str = ""
    links: tuple[FileLink, ...] = ()

    @property
    def folder(self) -> str:
        """The folder it lies in."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """Its file name."""
        return self.path.rpartition("/")[2]


class MigInstance(Record):
    """A MIG device of a GPU. index: NVML's number; the cap numbers are N of /dev/nvidia-caps/nvidia-capN."""

    index: int
    gpu_instance: int
    compute_instance: int
    uuid: str | None | Unknown = None
    gpu_cap: int | None = None
    compute_cap: int | None = None
    graphics: bool = False  # the profile has the attribute gfx


class RootGpu(Record):
    """A GPU of the driver. index: NVML's number, or the place in the order of PCI addresses."""

    index: int
    minor: int | None | Unknown
    uuid: str | None | Unknown = None
    address: str | None | Unknown = None
    name: str | None | Unknown = None
    is_mig: bool = False
    mig_devices: tuple[MigInstance, ...] = ()
    drm: tuple[str, ...] = ()  # names in the folder drm of sysfs: card0, renderD128
    drm_links: tuple[FileLink, ...] = ()  # below /dev/dri/by-path
    coherent: bool | None = None  # the GPU shares the processor's page tables (address translation service)


class GpuSource(Record):
    """Where the GPUs are known from: nvml or proc; nvml_reason: why NVML was not it, in words for people."""

    kind: str
    nvml_reason: str = ""
    driver_loaded: bool = True


class CsvLine(Record):
    """One line of a Jetson's mount specification: dev, dir, lib or sym, a path found, and the file that says so.

    target: for lib and sym the final real file. links: the links on the way there, the nearest first. library: for lib.
    """

    kind: str
    path: str
    file: str
    target: str = ""
    links: tuple[FileLink, ...] = ()
    node: DeviceFile | None = None
    library: LibraryFile | None = None


class WslStore(Record):
    """A folder of Windows' driver store and the names in it. changed_at: seconds since 1970 of the driver's file."""

    path: str
    files: tuple[str, ...]
    changed_at: float = 0.0


class Wsl(Record):
    """What WSL 2 has: the library of the device, and every store folder that may hold the driver."""

    dxcore: str | None
    stores: tuple[WslStore, ...] = ()


class Tegra(Record):
    """A Jetson: the marks of one, its mount specification, and what was wrong in it."""

    is_tegra: bool
    lines: tuple[CsvLine, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()  # path and why it is not taken
    files: tuple[str, ...] = ()  # the specification's files that were read
    release: str | None = None  # /etc/nv_tegra_release
    is_orin: bool = False


class DriverRoot(Record):
    """Everything that a mode of generation needs; a part that the mode does not need is empty.

    version_source: where the version comes from. searched: the places where libraries were looked for, in order.
    nodes: the device nodes that were found, in the order of their paths.
    """

    mode: str
    driver_root: str
    dev_root: str
    architecture: str = "x86_64"
    version: str | None | Unknown = None
    version_source: str = ""
    cuda_version: str | None = None
    source: GpuSource = GpuSource("proc", "", False)
    gpus: tuple[RootGpu, ...] | Unknown = ()
    nodes: tuple[DeviceFile, ...] = ()
    unreadable_nodes: tuple[tuple[str, str], ...] = ()  # a path and why it could not be looked at
    other_nodes: tuple[str, ...] = ()  # names that a node should have but that are something else
    searched: tuple[str, ...] = ()
    library_fault: str = ""  # why the libraries cannot be told: a link that leads to itself
    libraries: tuple[LibraryFile, ...] = ()
    library_folders: tuple[str, ...] = ()  # where the driver's own libraries lie
    other_versions: tuple[str, ...] = ()  # of driver libraries that were found instead
    x_libraries: tuple[LibraryFile, ...] = ()
    firmware: tuple[FoundFile, ...] = ()
    sockets: tuple[FoundFile, ...] = ()
    binaries: tuple[FoundFile, ...] = ()
    configs: tuple[FoundFile, ...] = ()
    files: tuple[FoundFile, ...] = ()  # others that a mode asks for
    nvgpu: bool = False  # NVML names a GPU that is part of the processor (nvgpu, Thor)
    has_nvml: bool = False  # the library is there
    has_container_root: bool = False  # there is a driver container's root, and it is not the one looked at
    tegra: Tegra | None = None
    wsl: Wsl | None = None

    def find_node(self, path: str) -> DeviceFile | None:
        """The node at a path, if it is there."""
        return next((node for node in self.nodes if node.path == path), None)
