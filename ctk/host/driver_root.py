"""Reads what lies below a driver root and a dev root, as much of it as a mode of `cdi generate` needs."""

from collections.abc import Iterable, Iterator

from ctk.cdi.driver_files import (
    BINARIES,
    CONFIGS,
    EXPLICIT_LIBRARIES,
    FIRMWARE,
    MACHINES,
    MPS_FOLDER,
    MPS_VARIABLE,
    NEAR_LIBRARIES,
    OTHER_LIBRARIES,
    RUN_FOLDERS,
    SOCKETS,
    X_BINARY,
    X_FOLDERS,
    X_LIBRARIES,
)
from ctk.cdi.modes import CSV, FILE_PATTERNS, MANAGEMENT, NODE_PATTERNS, NVML, WSL, ModeMarks, choose_mode
from ctk.facts import Unknown
from ctk.facts.driver_root import DriverRoot, FoundFile, GpuSource, LibraryFile, RootGpu
from ctk.host import Host, LocalHost
from ctk.host.libraries import (
    LibrarySearch,
    find_by_name,
    find_driver_folders,
    find_driver_libraries,
    find_libraries,
    find_libraries_in,
    find_versions,
    find_x_libraries,
)
from ctk.host.nvml_watch import LIBRARY
from ctk.host.reading import ABSENT, try_exists, unknown_from
from ctk.host.root_gpus import Asking, FoundGpus, NvmlQuery, collect_gpus
from ctk.host.root_nodes import collect_nodes
from ctk.host.tegra import CsvQuery, collect_tegra, collect_wsl, is_tegra
from ctk.record import Record

DATA_FOLDERS = "/usr/local/share:/usr/share"
"""XDG_DATA_DIRS where it is not set (XDG Base Directory Specification)."""
CONTAINER_ROOT = "/run/nvidia/driver"
"""Where the GPU Operator's driver container has its own root."""
MIG_CAPS = "/dev/nvidia-caps/nvidia-cap*"


class RootQuery(Record):
    """What is asked for. nvml_seconds None: NVML is not asked. Paths are the host's; library folders the root's."""

    mode: str = "auto"
    driver_root: str = "/"
    dev_root: str = "/"
    nvml_seconds: float | None = 30.0
    library_folders: tuple[str, ...] = ()
    config_folders: tuple[str, ...] = ()
    explicit_libraries: bool = False
    csv_folder: str = ""
    csv_files: tuple[str, ...] = ()
    csv_ignored: tuple[str, ...] = ()


def collect_driver_root(host: Host, query: RootQuery, ask_library: Asking | None = None) -> DriverRoot:
    """The facts, and the mode that `auto` comes to. Never raises for what the host is like.

    ask_library: what asks NVML, None = the library itself.
    """
    root = _root_host(host, query.driver_root)
    architecture = _architecture(host)
    search = LibrarySearch(root, architecture, query.library_folders)
    wsl = collect_wsl(root, search.cached()) if query.mode in ("auto", WSL) else None
    is_wsl = wsl is not None and (wsl.dxcore is not None or _has_only_dxg(host, query.dev_root))
    gpus = _gpus(host, search, query, is_wsl, ask_library)
    marks = ModeMarks(is_wsl, query.mode == "auto" and is_tegra(host), gpus.has_library, gpus.nvgpu)
    mode = choose_mode(marks) if query.mode == "auto" else query.mode
    found = collect_nodes(host, query.dev_root, _node_patterns(mode, gpus))
    facts = DriverRoot(
        mode=mode,
        driver_root=query.driver_root,
        dev_root=query.dev_root,
        architecture=architecture,
        version=gpus.version,
        version_source="NVML" if gpus.source.kind == "nvml" else "/proc/driver/nvidia/version",
        cuda_version=gpus.cuda_version,
        source=gpus.source,
        gpus=gpus.gpus,
        nodes=found.nodes,
        unreadable_nodes=found.unreadable,
        other_nodes=found.others,
        nvgpu=gpus.nvgpu,
        has_nvml=gpus.has_library,
        has_container_root=query.driver_root == "/" and try_exists(host, f"{CONTAINER_ROOT}/usr") is True,
        wsl=wsl if mode == WSL else None,
        files=tuple(_found(host, root, query.driver_root, FILE_PATTERNS.get(mode, ()))),
    )
    if mode == CSV:
        csv = CsvQuery(query.csv_folder, query.csv_files, query.csv_ignored)
        return facts._replace(tegra=collect_tegra(host, search, query.dev_root, csv))
    return _with_driver_files(host, root, search, query, facts) if mode in (NVML, MANAGEMENT) else facts


def _has_only_dxg(host: Host, dev_root: str) -> bool:
    """WSL's device without its library. A virtual machine may have the device too, with a driver of its own."""
    device = try_exists(host, f"{dev_root.rstrip('/')}/dev/dxg")
    return device is True and try_exists(host, "/proc/driver/nvidia/version") is not True


def _root_host(host: Host, driver_root: str) -> Host:
    """The driver root as a host of its own, so that absolute links in it stay inside."""
    return host if driver_root == "/" else LocalHost(host.real_path(driver_root), environment={})


def _architecture(host: Host) -> str:
    from ctk.host.system import collect_architecture

    found = collect_architecture(host)
    return found if isinstance(found, str) and found in MACHINES else "x86_64"


def _gpus(host: Host, search: LibrarySearch, query: RootQuery, is_wsl: bool, ask_library: Asking | None) -> FoundGpus:
    """GPUs for the modes that have any; asking NVML wakes them, so nobody else does."""
    if query.mode in ("auto", NVML, CSV) and not is_wsl:
        root = "" if query.driver_root == "/" else query.driver_root
        places = tuple(root + path for path in find_by_name(search, LIBRARY))
        return collect_gpus(host, NvmlQuery(query.driver_root, query.nvml_seconds, places), query.dev_root, ask_library)
    if query.mode == MANAGEMENT:
        return collect_gpus(host, NvmlQuery(query.driver_root), query.dev_root)
    return FoundGpus(GpuSource("none", "not asked: this mode needs no GPU", False), ())


def _node_patterns(mode: str, found: FoundGpus) -> Iterable[str]:
    yield from NODE_PATTERNS.get(mode, ())
    gpus: tuple[RootGpu, ...] = () if isinstance(found.gpus, Unknown) else found.gpus
    if mode == NVML:
        yield from (f"/dev/dri/{name}" for gpu in gpus for name in gpu.drm)
        if any(gpu.mig_devices for gpu in gpus):
            yield MIG_CAPS


def _with_driver_files(
    host: Host, root: Host, search: LibrarySearch, query: RootQuery, facts: DriverRoot
) -> DriverRoot:
    """Libraries and all that is found by the driver's version."""
    try:
        facts = _with_version(search, facts)
        facts = facts._replace(searched=search.searched)
        if not isinstance(facts.version, str):
            return facts
        facts = _with_libraries(search, query, facts, facts.version)
    except OSError as error:
        place = str(error.filename or "")
        return facts._replace(searched=search.searched, library_fault=f"{place}: {unknown_from(error).reason}")
    wants_graphics = facts.mode == NVML
    programs = (*BINARIES, X_BINARY) if wants_graphics else BINARIES
    configs = tuple(_configs(host, root, query, facts.architecture)) if wants_graphics else ()
    return facts._replace(
        firmware=tuple(_firmware(host, root, query.driver_root, str(facts.version))),
        sockets=tuple(_sockets(host, root, query.driver_root)),
        binaries=tuple(_first_of(host, root, query.driver_root, _program_folders(root), programs)),
        configs=configs,
    )


def _with_version(search: LibrarySearch, facts: DriverRoot) -> DriverRoot:
    if isinstance(facts.version, str):
        return facts
    versions = find_versions(search)
    if not versions:
        return facts
    return facts._replace(version=versions[0], version_source="the names of its libraries", other_versions=versions[1:])


def _with_libraries(search: LibrarySearch, query: RootQuery, facts: DriverRoot, version: str) -> DriverRoot:
    folders = find_driver_folders(search, version)
    if not folders:
        return facts._replace(other_versions=find_versions(search))
    own = find_driver_libraries(search, folders, version)
    others: tuple[LibraryFile, ...] = ()
    if facts.mode == NVML:
        near = (*NEAR_LIBRARIES, *(EXPLICIT_LIBRARIES if query.explicit_libraries else ()))
        others = (*find_libraries(search, OTHER_LIBRARIES, folders), *find_libraries_in(search, near, folders))
    x_folders = [pattern.format(folder=folder) for folder in folders for pattern in X_FOLDERS]
    names = [name.format(version=version) for name in X_LIBRARIES] if facts.mode == NVML else []
    known = {library.path for library in own}
    return facts._replace(
        library_folders=folders,
        libraries=(*own, *(library for library in others if library.path not in known)),
        x_libraries=find_x_libraries(search, names, dict.fromkeys(x_folders)),
    )


def _found(host: Host, root: Host, driver_root: str, paths: Iterable[str]) -> Iterator[FoundFile]:
    """Those that are there. A path that leads elsewhere from outside the root is taken from its real place."""
    for path in paths:
        try:
            if not root.exists(path):
                continue
            source = path
            if driver_root != "/" and host.real_path(driver_root.rstrip("/") + path) != root.real_path(path):
                source = root.real_path(path)[len(root.root) :]
        except OSError:
            continue
        yield FoundFile(path, source)


def _first_of(
    host: Host, root: Host, driver_root: str, folders: Iterable[str], names: Iterable[str]
) -> Iterator[FoundFile]:
    """Each name in the first folder that has it."""
    places = tuple(folders)
    for name in names:
        found = _found(host, root, driver_root, (f"{folder}/{name}" for folder in places))
        first = next((one for one in found if _is_file(root, one.path)), None)
        if first is not None:
            yield first


def _is_file(host: Host, path: str) -> bool:
    """A regular file is there, as far as one may look."""
    try:
        return host.is_file(path)
    except OSError:
        return False


def _is_folder(host: Host, path: str) -> bool:
    try:
        return host.is_directory(path)
    except OSError:
        return False


def _program_folders(root: Host) -> tuple[str, ...]:
    from ctk.host.programs import search_folders

    return search_folders(root)


def _sockets(host: Host, root: Host, driver_root: str) -> Iterator[FoundFile]:
    """Sockets, and the folder of the multi-process service's pipes."""
    for name in SOCKETS:
        paths = (f"{folder}/{name}" for folder in RUN_FOLDERS)
        yield from list(_found(host, root, driver_root, paths))[:1]
    folder = host.get_environment().get(MPS_VARIABLE, "") if host.is_live else ""
    path = folder if folder.startswith("/") else MPS_FOLDER
    yield from _found(host, root, driver_root, (path,) if _is_folder(root, path) else ())


def _firmware(host: Host, root: Host, driver_root: str, version: str) -> Iterator[FoundFile]:
    """The images of the first folder in the kernel's order that has any for this version."""
    from fnmatch import fnmatchcase

    from ctk.host.driver_files import firmware_search
    from ctk.host.system import collect_kernel_release

    for folder in firmware_search(host, collect_kernel_release(host)):
        place = f"{folder}/nvidia/{version}"
        try:
            names = [name for name in root.list_directory(place) if fnmatchcase(name, FIRMWARE)]
        except (*ABSENT, PermissionError):
            continue
        if names:
            yield from _found(host, root, driver_root, (f"{place}/{name}" for name in names))
            return


def _configs(host: Host, root: Host, query: RootQuery, architecture: str) -> Iterator[FoundFile]:
    """Each configuration file, as it will be called in the container, from the first folder that has it."""
    data = host.get_environment().get("XDG_DATA_DIRS") if host.is_live else None
    own = ("/etc", *[folder.rstrip("/") for folder in (data or DATA_FOLDERS).split(":") if folder.startswith("/")])
    for config in CONFIGS:
        name = config.name.format(architecture=architecture)
        target = f"{config.target}/{name}"
        if query.config_folders:  # of the host, not below the driver root
            paths = [f"{folder.rstrip('/')}/{name}" for folder in query.config_folders]
            outside = next((path for path in paths if try_exists(host, path) is True), None)
            if outside is not None:
                yield FoundFile(target, outside, of_host=True)
            continue
        folders = (*own, "") if config.from_root else own
        found = next(iter(_found(host, root, query.driver_root, (f"{folder}/{name}" for folder in folders))), None)
        if found is not None:
            yield FoundFile(target, found.source)
