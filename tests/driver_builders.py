"""Valid values of the PCI, kernel, module and driver facts of a healthy host with two GPUs; override one thing."""

from ctk.facts.conditions import Conditions, FileSystem
from ctk.facts.device_nodes import CharLink, DeviceNode, DeviceNodes, DevMount
from ctk.facts.driver import DeviceMajor, Driver, DriverGpu, DriverLibrary, DriverParameter, FirmwareFolder
from ctk.facts.kernel import Kernel, KernelOption, ModprobeRule
from ctk.facts.loader import CachedLibrary, LibraryFile, Loader, LoaderCache, SearchFolder
from ctk.facts.modules import LoadedModule, ModuleFile, Modules
from ctk.facts.pci import NVIDIA, Pci, PciFunction, PciRegion

RELEASE = "6.1.0-21-amd64"
VERSION = "580.95.05"
FIRST, SECOND = "0000:3b:00.0", "0000:86:00.0"
H100 = 0x2330
BUILT_IN = (
    *("CGROUPS", "CGROUP_BPF", "CGROUP_DEVICE", "DRM", "MMU_NOTIFIER", "MODULES", "NAMESPACES"),
    *("PCI_MSI", "SECCOMP"),
)


def make_function(address: str = FIRST, **changes: object) -> PciFunction:
    """An H100 at full width, bound to the driver."""
    values: dict[str, object] = {
        "address": address,
        "folder": f"/sys/bus/pci/devices/{address}",
        "vendor_id": NVIDIA,
        "device_id": H100,
        "class_code": 0x030200,
        "subsystem_vendor_id": NVIDIA,
        "subsystem_device_id": 0x16C1,
        "revision": 0xA1,
        "driver": "nvidia",
        "current_link_width": 16,
        "max_link_width": 16,
        "current_link_speed": 32000,
        "max_link_speed": 32000,
        "power_state": "D0",
        "runtime_status": "active",
        "runtime_control": "on",
        "numa_node": 0,
        "iommu_group": 21,
        "regions": (
            PciRegion(0, 0xB4000000, 0xB4FFFFFF, 0x140204),
            PciRegion(2, 0x20000000000, 0x21FFFFFFFFF, 0x14220C),
            PciRegion(4, 0x22000000000, 0x22001FFFFFF, 0x14220C),
        ),
        "config_head": "de103023060410000000a10000020003" + "00" * 48,
        "correctable_errors": 0,
        "nonfatal_errors": 0,
        "fatal_errors": 0,
        "upstream": "0000:3a:00.0",
    }
    return PciFunction(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_port(address: str = "0000:3a:00.0", **changes: object) -> PciFunction:
    """The port above a GPU."""
    values: dict[str, object] = {"vendor_id": 0x8086, "device_id": 0x352A, "class_code": 0x060400, "driver": "pcieport"}
    return make_function(address, **{**values, "config_head": None, "regions": (), "upstream": None, **changes})


def make_pci(*functions: PciFunction, **changes: object) -> Pci:
    """Two GPUs and their ports."""
    gpus = functions or (make_function(), make_function(SECOND, upstream="0000:85:00.0"))
    values: dict[str, object] = {"functions": gpus, "ports": (make_port(), make_port("0000:85:00.0"))}
    return Pci(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_kernel(**changes: object) -> Kernel:
    """A distribution's kernel without EFI."""
    values: dict[str, object] = {
        "banner": f"Linux version {RELEASE} (gcc-12 (Debian 12.2.0-14) 12.2.0) #1 SMP PREEMPT_DYNAMIC",
        "booted_at": "2024-05-01T08:00:00Z",
        "command_line": (),
        "taint": 12289,
        "page_size_bytes": 4096,
        "lockdown": "none",
        "signatures_enforced": False,
        "trusted_keys": ("Debian Secure Boot CA: 6ccece7e4c6c0d1f6149f3dd27dfcc5cbb419ea1",),
        "module_folders": (RELEASE,),
        "headers": f"/lib/modules/{RELEASE}/build",
        "modprobe_rules": (ModprobeRule("blacklist", "nouveau", "", "/etc/modprobe.d/nvidia.conf", 1),),
        "config_path": f"/boot/config-{RELEASE}",
        "options": (*(KernelOption(name, "y") for name in BUILT_IN), KernelOption("OVERLAY_FS", "m")),
        "log_restricted": 1,
        "bpf_jit_harden": 0,
    }
    return Kernel(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_loaded(name: str = "nvidia", **changes: object) -> LoadedModule:
    """A module of the driver, in use."""
    values: dict[str, object] = {
        "name": name,
        "size_bytes": 14966784,
        "use_count": 4,
        "used_by": (),
        "state": "Live",
        "taint": "OE",
        "version": VERSION,
        "source_version": "8F63CE2B8A4FB02B14A4F4F",
    }
    return LoadedModule(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_module_file(name: str = "nvidia", **changes: object) -> ModuleFile:
    """A module file that DKMS put there."""
    values: dict[str, object] = {
        "path": f"/lib/modules/{RELEASE}/updates/dkms/{name.replace('_', '-')}.ko",
        "name": name,
        "release": RELEASE,
        "version": VERSION,
        "source_version": "8F63CE2B8A4FB02B14A4F4F",
        "version_magic": f"{RELEASE} SMP preempt mod_unload modversions ",
        "license": "Dual MIT/GPL",
        "is_listed": True,
    }
    return ModuleFile(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_modules(**changes: object) -> Modules:
    """All of the driver's modules, loaded and on disk, without DKMS."""
    values: dict[str, object] = {
        "loaded": (make_loaded(), make_loaded("nvidia_uvm"), make_loaded("nvidia_modeset"), make_loaded("nvidia_drm")),
        "files": (make_module_file(), make_module_file("nvidia_uvm")),
        "nouveau_on_disk": True,
        "vendor_folders": ("nvidia", "nvidia_drm", "nvidia_modeset", "nvidia_uvm"),
    }
    return Modules(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_driver_gpu(address: str = FIRST, **changes: object) -> DriverGpu:
    """One GPU as the driver lists it."""
    values: dict[str, object] = {
        "address": address,
        "folder": f"/proc/driver/nvidia/gpus/{address}",
        "model": "NVIDIA H100 80GB HBM3",
        "video_bios": "96.00.74.00.01",
        "firmware": VERSION,
        "minor": 0,
        "excluded": False,
    }
    return DriverGpu(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


PARAMETERS = (
    DriverParameter("ModifyDeviceFiles", "1"),
    DriverParameter("DeviceFileUID", "0"),
    DriverParameter("DeviceFileGID", "0"),
    DriverParameter("DeviceFileMode", "438"),
    DriverParameter("RegisterPCIDriver", "1"),
    DriverParameter("EnableGpuFirmware", "18"),
    DriverParameter("RmProfilingAdminOnly", "1"),
    DriverParameter("ExcludedGpus", ""),
)


def make_library(name: str = "libnvidia-ml.so", **changes: object) -> DriverLibrary:
    """A user library of the loaded version, in the linker's folder."""
    version = changes.get("version", VERSION)
    values: dict[str, object] = {
        "name": name,
        "path": f"/usr/lib/x86_64-linux-gnu/{name}.{version}",
        "version": version,
        "linked": True,
        "modified_at": "2024-04-01T00:00:00Z",
    }
    return DriverLibrary(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_driver(**changes: object) -> Driver:
    """The open modules, with libraries and firmware of the same version."""
    values: dict[str, object] = {
        "version": VERSION,
        "flavour": "open",
        "banner": f"NVIDIA UNIX Open Kernel Module for x86_64 {VERSION} Release Build (dvs-builder@U22)",
        "compiler": "gcc version 12.2.0 (Debian 12.2.0-14)",
        "parameters": PARAMETERS,
        "gpus": (make_driver_gpu(), make_driver_gpu(SECOND, minor=1)),
        "capabilities": (),
        "majors": (DeviceMajor("nvidia", 195), DeviceMajor("nvidia-uvm", 508), DeviceMajor("nvidia-caps", 511)),
        "libraries": (make_library(), make_library("libcuda.so")),
        "firmware": (FirmwareFolder(VERSION, f"/lib/firmware/nvidia/{VERSION}", ("gsp_ga10x.bin", "gsp_tu10x.bin")),),
        "firmware_search": ("/lib/firmware",),
        "modprobe_path": "/usr/bin/nvidia-modprobe",
        "modprobe_setuid": True,
    }
    return Driver(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_conditions(**changes: object) -> Conditions:
    """Nothing is stuck, the disk has room, and there is no SELinux."""
    values: dict[str, object] = {"file_systems": (FileSystem("/", 1 << 40, 1 << 39, 1 << 26, 1 << 25, False),)}
    return Conditions(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_node(path: str = "/dev/nvidia0", major: int = 195, minor: int = 0, **changes: object) -> DeviceNode:
    """A node that everybody may open, looked at on the machine itself."""
    values: dict[str, object] = {"path": path, "kind": "char", "major": major, "minor": minor}
    values |= {"mode": 0o666, "uid": 0, "gid": 0, "accessible": True}
    return DeviceNode(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


NODES = (
    make_node(),
    make_node("/dev/nvidia1", minor=1),
    make_node("/dev/nvidiactl", minor=255),
    make_node("/dev/nvidia-modeset", minor=254),
    make_node("/dev/nvidia-uvm", 508),
    make_node("/dev/nvidia-uvm-tools", 508, 1),
)


def link_of(node: DeviceNode) -> CharLink:
    """The link below /dev/char that leads to a node."""
    return CharLink(f"/dev/char/{node.major}:{node.minor}", f"..{node.path.removeprefix('/dev')}")


def make_device_nodes(*nodes: DeviceNode, **changes: object) -> DeviceNodes:
    """The nodes of two GPUs with their links, on a devtmpfs."""
    found = nodes or NODES
    values: dict[str, object] = {
        "nodes": found,
        "links": tuple(link_of(node) for node in found if node.is_device),
        "mount": DevMount("/dev", "devtmpfs", ("rw", "nosuid", "mode=755"), "/proc/self/mountinfo"),
    }
    return DeviceNodes(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


LIBRARIES = "/usr/lib/x86_64-linux-gnu"


def make_file(name: str, target: str | None = None, real: str | None = "", **changes: object) -> LibraryFile:
    """A file of the driver, or a link to one, in the usual folder; real: the file behind it, "" = itself."""
    stem, _, version = name.partition(".so")
    values: dict[str, object] = {
        "path": f"{LIBRARIES}/{name}",
        "stem": f"{stem}.so",
        "version": version.removeprefix("."),
        "target": target,
        "real_path": None if real is None else f"{LIBRARIES}/{real or name}",
    }
    return LibraryFile(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_cached(name: str = "libcuda.so.1", **changes: object) -> CachedLibrary:
    """An entry of the loader's cache, for this machine's programs."""
    values: dict[str, object] = {"name": name, "path": f"{LIBRARIES}/{name}", "architecture": "x86_64", "bits": 64}
    values |= {"real_path": f"{LIBRARIES}/{name.removesuffix('.1')}.{VERSION}"}
    return CachedLibrary(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_cache(*entries: CachedLibrary, **changes: object) -> LoaderCache:
    """A sound cache; without entries those of the two libraries."""
    found = entries or (make_cached("libnvidia-ml.so.1"), make_cached())
    values: dict[str, object] = {"path": "/etc/ld.so.cache", "format": "1.1", "total": 543, "entries": found}
    return LoaderCache(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


FILES = (
    make_file("libnvidia-ml.so.1", f"libnvidia-ml.so.{VERSION}", f"libnvidia-ml.so.{VERSION}"),
    make_file(f"libnvidia-ml.so.{VERSION}"),
    make_file("libcuda.so", "libcuda.so.1", f"libcuda.so.{VERSION}"),
    make_file("libcuda.so.1", f"libcuda.so.{VERSION}", f"libcuda.so.{VERSION}"),
    make_file(f"libcuda.so.{VERSION}"),
)


def make_loader(**changes: object) -> Loader:
    """glibc's loader, with the driver's libraries in its cache."""
    values: dict[str, object] = {
        "glibc": "/lib64/ld-linux-x86-64.so.2",
        "ldconfig": "/sbin/ldconfig",
        "cache": make_cache(),
        "files": FILES,
        "search": (SearchFolder(LIBRARIES, "/etc/ld.so.conf.d/x86_64-linux-gnu.conf", 4),),
    }
    return Loader(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name
