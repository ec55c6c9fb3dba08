"""Reads what is special about a Jetson, WSL or a virtual machine; on a plain server it looks at three files."""

import re
from collections.abc import Iterator

from ctk.cdi.driver_files import WSL_FILES
from ctk.facts import Unknown
from ctk.facts.pci import Pci
from ctk.facts.platform import Jetson, MountFault, MountFile, Platform, Wsl, WslStore
from ctk.facts.system import System
from ctk.host import Host
from ctk.host.driver_packages import collect_packages
from ctk.host.reading import ABSENT, try_exists, try_read_text, unknown_from
from ctk.host.virtual_machine import collect_hypervisor, collect_maps_users, collect_vgpus

WSL_NODE = "/dev/dxg"
WSL_LIBRARIES = "/usr/lib/wsl/lib"
WSL_CORE = ("libcuda.so.1", "libdxcore.so", "libnvidia-ml.so.1", "nvidia-smi")
WSL_STORES = "/usr/lib/wsl/drivers/nv*"
"""The whole driver store of Windows is mounted there: hundreds of folders, of which NVIDIA's begin with nv."""
LOADER_CACHE = "/etc/ld.so.cache"
TEGRA_RELEASE = "/etc/nv_tegra_release"
RELEASE = re.compile(r"R(\d+) \(release\), REVISION: ([\d.]+)")
JETSON_NODES = (
    "/dev/nvmap",
    "/dev/nvhost-ctrl-gpu",
    "/dev/nvgpu/igpu0/ctrl",
    "/dev/nvidia0",
    "/dev/nvidiactl",
)
"""Memory; the GPU's control node by its old and its new name (include/uapi/linux/nvgpu-ctrl.h); those of Thor."""
MOUNT_FOLDER = "/etc/nvidia-container-runtime/host-files-for-container.d"
LISTED_FAULTS = 50


def collect_platform(host: Host, system: System, pci: Pci | None | Unknown) -> Platform:
    """Never raises for what the host is like."""
    hypervisor = collect_hypervisor(host)
    is_guest = isinstance(hypervisor, str) and system.wsl is None and isinstance(pci, Pci)
    gpus = {gpu.address: gpu.folder for gpu in pci.gpus} if isinstance(pci, Pci) else {}
    return Platform(
        hypervisor=hypervisor,
        wsl=collect_wsl(host) if isinstance(system.wsl, int) else None,
        jetson=collect_jetson(host) if system.jetson is True else None,
        vgpus=collect_vgpus(host, gpus) if is_guest else None,
        maps_users=collect_maps_users(host),
    )


def collect_wsl(host: Host) -> Wsl:
    """The device, the folders that Windows shares, and what of a Linux driver stands in the way."""
    return Wsl(
        dxg=try_exists(host, WSL_NODE),
        libraries=_names_of(host, WSL_LIBRARIES, WSL_CORE),
        stores=_collect_stores(host),
        first_cuda=_first_cuda(host),
        packages=collect_packages(host),
    )


def _names_of(host: Host, folder: str, wanted: tuple[str, ...]) -> tuple[str, ...] | None | Unknown:
    try:
        names = host.list_directory(folder)
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)
    return tuple(name for name in wanted if name in names)


def _collect_stores(host: Host) -> tuple[WslStore, ...] | Unknown:
    """Only folders that hold any of the files: those of sound and bus drivers of NVIDIA's do not."""
    found = []
    try:
        for folder in host.glob(WSL_STORES):
            names = _names_of(host, folder, WSL_FILES)
            if isinstance(names, Unknown):
                return names
            found += [WslStore(folder, names)] if names else []
    except OSError as error:
        return unknown_from(error)
    return tuple(found)


def _first_cuda(host: Host) -> str | None | Unknown:
    from ctk.formats.ld_cache import parse_ld_cache

    try:
        cache = parse_ld_cache(host.read_bytes(LOADER_CACHE), ("libcuda.so.1",))
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)
    except ValueError as error:
        return Unknown(f"{LOADER_CACHE}: {error}")
    paths = [entry.path for entry in cache.entries if entry.name == "libcuda.so.1" and entry.bits == 64]
    return paths[0] if paths else None


def collect_jetson(host: Host) -> Jetson:
    """The system's release, the nodes, and what the toolkit will mount."""
    release, model = try_read_text(host, TEGRA_RELEASE), try_read_text(host, "/proc/device-tree/model")
    mode, folder = _collect_settings(host)
    return Jetson(
        release=parse_tegra_release(release) if isinstance(release, str) else release,
        model=model.rstrip("\0\n") if isinstance(model, str) else model,
        nodes=_collect_nodes(host),
        mode=mode,
        mount_folder=folder,
        mount_files=collect_mount_files(host, folder),
    )


def parse_tegra_release(text: str) -> str | None:
    """ "# R36 (release), REVISION: 4.0, GCID: …" is 36.4.0."""
    found = RELEASE.search(text)
    return f"{found[1]}.{found[2]}" if found else None


def _collect_nodes(host: Host) -> tuple[str, ...] | Unknown:
    answers = {path: try_exists(host, path) for path in JETSON_NODES}
    hidden = [answer for answer in answers.values() if isinstance(answer, Unknown)]
    return hidden[0] if hidden else tuple(path for path, answer in answers.items() if answer)


def _collect_settings(host: Host) -> tuple[str | None | Unknown, str]:
    """The runtime's mode, and where its mount specifications are: as configured, else the defaults."""
    from ctk.edit import toml
    from ctk.errors import ParseFault
    from ctk.host.toolkit_config import DEFAULT_CONFIG
    from ctk.toolkit.document import value_at

    text = try_read_text(host, DEFAULT_CONFIG)
    if not isinstance(text, str):
        return ("auto" if text is None else text), MOUNT_FOLDER
    try:
        content = toml.load(text)
    except ParseFault as fault:
        return Unknown(str(fault)), MOUNT_FOLDER
    mode = value_at(content, ("nvidia-container-runtime", "mode"))
    folder = value_at(content, ("nvidia-container-runtime", "modes", "csv", "mount-spec-path"))
    return (mode if isinstance(mode, str) else "auto"), (folder if isinstance(folder, str) else MOUNT_FOLDER)


def collect_mount_files(host: Host, folder: str) -> tuple[MountFile, ...] | None | Unknown:
    """Every CSV file of the folder, in order."""
    try:
        names = [name for name in host.list_directory(folder) if name.endswith(".csv")]
        return tuple(_read_mount_file(host, f"{folder.rstrip('/')}/{name}") for name in names)
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)


def _read_mount_file(host: Host, path: str) -> MountFile:
    from ctk.formats.mount_spec import BASE_FILES, MountLine, parse_mount_spec

    lines = parse_mount_spec(host.read_text(path))

    def faults(wanted: Iterator[tuple[MountLine, str]]) -> tuple[MountFault, ...]:
        return tuple(MountFault(path, line.number, line.text, reason) for line, reason in wanted)[:LISTED_FAULTS]

    good = [line for line in lines if not line.fault]
    return MountFile(
        path=path,
        in_force=path.rpartition("/")[2] in BASE_FILES,
        paths=len(good),
        faults=faults((line, line.fault) for line in lines if line.fault),
        missing=faults((line, "not there") for line in good if not _is_there(host, line.path)),
    )


def _is_there(host: Host, pattern: str) -> bool:
    """Any file that the path or glob names; also where nobody may look: then nothing can be said against it."""
    try:
        if any(letter in pattern for letter in "*?["):
            return bool(host.glob(pattern))
        return host.exists(pattern) or host.is_link(pattern)
    except OSError:
        return True
