"""The driver's files on disk by their names: user libraries, firmware, and traces of how it came here; opens none."""

import re
from collections.abc import Iterable, Iterator

from ctk.facts import Unknown
from ctk.facts.driver import DriverLibrary, DriverTrace, FirmwareFolder
from ctk.host import Host
from ctk.host.processes import format_time
from ctk.host.programs import find_program
from ctk.host.reading import ABSENT, try_read_text, unknown_from

LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/usr/lib64",
    "/usr/lib64/nvidia",
    "/usr/lib/nvidia-*",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/run/opengl-driver/lib",
)
"""Where distributions and NVIDIA's installer put 64-bit libraries; driver roots elsewhere are traces."""
LIBRARY = re.compile(r"(libnvidia-ml\.so|libcuda\.so)\.(\d+\.\d+(?:\.\d+)*)")
UDEV_FOLDERS = ("/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d")
NODE_MAKERS = ("nvidia-modprobe", "nvidia-smi", "nvidia-persistenced", "mknod")
CONTAINER_ROOT = "/run/nvidia/driver"
FIRMWARE_PARAMETER = "/sys/module/firmware_class/parameters/path"
FIRMWARE_ROOT = "/lib/firmware"
FIRMWARE_VERSION = re.compile(r"\d+\.\d+(\.\d+)*")

TRACES = (
    ("runfile", "/usr/bin/nvidia-uninstall"),
    ("runfile", "/var/log/nvidia-installer.log"),
    ("container", CONTAINER_ROOT),
    ("container", "/run/nvidia/validations/driver-ready"),
    ("vendor", "/home/kubernetes/bin/nvidia"),
    ("vendor", "/opt/nvidia/driver"),
    ("vendor", "/usr/local/nvidia/lib64"),
    ("tool", "/usr/bin/nvidia-smi"),
    ("tool", "/opt/bin/nvidia-smi"),
)
"""The installer's own files, the GPU Operator's driver root, GKE's and other cloud images' folders, and a tool."""


def collect_root_libraries(host: Host) -> tuple[DriverLibrary, ...] | None | Unknown:
    """What a driver container has in its own root; None: there is no such root."""
    try:
        return collect_libraries(host, CONTAINER_ROOT) if host.is_directory(CONTAINER_ROOT) else None
    except OSError as error:
        return unknown_from(error)


def collect_libraries(host: Host, root: str = "") -> tuple[DriverLibrary, ...] | Unknown:
    """Every copy of the two libraries whose version must be the module's; the same file is told once."""
    found: dict[str, DriverLibrary] = {}
    try:
        for folder in LIBRARY_FOLDERS:
            for place in host.glob(root + folder):
                for library in _collect_folder(host, place):
                    found.setdefault(host.real_path(library.path), library)
    except OSError as error:
        return unknown_from(error)
    return tuple(found.values())


def _collect_folder(host: Host, folder: str) -> Iterator[DriverLibrary]:
    try:
        names = host.list_directory(folder)
    except ABSENT:
        return
    for name in names:
        match = LIBRARY.fullmatch(name)
        if match is not None:
            stem, version = match.groups()
            linked = f"{stem}.1" in names and _same_file(host, f"{folder}/{stem}.1", f"{folder}/{name}")
            yield DriverLibrary(stem, f"{folder}/{name}", version, linked, _modified_at(host, f"{folder}/{name}"))


def _same_file(host: Host, one: str, other: str) -> bool:
    try:
        return host.real_path(one) == host.real_path(other)
    except OSError:
        return False


def _modified_at(host: Host, path: str) -> str | None:
    try:
        return format_time(host.stat(path).st_ctime if host.is_live else host.stat(path).st_mtime)
    except OSError:
        return None


def firmware_search(host: Host, release: str | None | Unknown) -> tuple[str, ...]:
    """The kernel's order: drivers/base/firmware_loader/main.c."""
    parameter = try_read_text(host, FIRMWARE_PARAMETER)
    named = (parameter.strip(),) if isinstance(parameter, str) and parameter.strip() else ()
    kernel = release if isinstance(release, str) else None
    updates = (f"{FIRMWARE_ROOT}/updates/{kernel}",) if kernel else ()
    own = (f"{FIRMWARE_ROOT}/{kernel}",) if kernel else ()
    return (*named, *updates, f"{FIRMWARE_ROOT}/updates", *own, FIRMWARE_ROOT)


def collect_firmware(host: Host, search: Iterable[str]) -> tuple[FirmwareFolder, ...] | Unknown:
    """The folders nvidia/<version> in the search path."""
    found = []
    try:
        for folder in search:
            for name in _names(host, f"{folder}/nvidia"):
                path = f"{folder}/nvidia/{name}"
                if FIRMWARE_VERSION.fullmatch(name) and host.is_directory(path):
                    found.append(FirmwareFolder(name, path, _names(host, path)))
    except OSError as error:
        return unknown_from(error)
    return tuple(found)


def _names(host: Host, folder: str) -> tuple[str, ...]:
    try:
        return host.list_directory(folder)
    except ABSENT:
        return ()


def collect_traces(host: Host) -> tuple[DriverTrace, ...] | Unknown:
    """Which of the known marks are there."""
    try:
        return tuple(DriverTrace(kind, path) for kind, path in TRACES if host.exists(path))
    except OSError as error:
        return unknown_from(error)


def collect_udev_rules(host: Host) -> tuple[str, ...] | Unknown:
    """Rules whose file names NVIDIA, as packages call them (60-nvidia.rules, 71-nvidia.rules)."""
    try:
        return tuple(path for folder in UDEV_FOLDERS for path in host.glob(f"{folder}/*nvidia*.rules"))
    except OSError as error:
        return unknown_from(error)


def collect_node_rules(host: Host) -> tuple[str, ...] | Unknown:
    """Those of them that run a program which makes device nodes; others start a unit, or make links."""
    paths = collect_udev_rules(host)
    if isinstance(paths, Unknown):
        return paths
    texts = ((path, try_read_text(host, path)) for path in paths)
    return tuple(path for path, text in texts if isinstance(text, str) and any(maker in text for maker in NODE_MAKERS))


def collect_modprobe(host: Host) -> tuple[str | None | Unknown, bool | Unknown]:
    """nvidia-modprobe, and whether every user runs it with root's rights."""
    path = find_program(host, ("nvidia-modprobe",), ())
    if not isinstance(path, str):
        return path, False if path is None else path
    try:
        status = host.stat(path)
    except OSError as error:
        return path, unknown_from(error)
    return path, bool(status.st_mode & 0o4000) and (status.st_uid == 0 or not host.is_live)
