"""The dynamic loader's cache and folders, and the driver's libraries in them by their names; it loads none."""

import re
from collections.abc import Iterable, Iterator

from ctk.facts import Unknown
from ctk.facts.engines import EngineInstallation
from ctk.facts.loader import (
    CachedLibrary,
    CompatFolder,
    DaemonVariables,
    LibraryFile,
    Loader,
    LoaderCache,
    SearchFolder,
)
from ctk.formats.ld_cache import LdCacheEntry, parse_ld_cache
from ctk.host import Host
from ctk.host.driver_files import LIBRARY_FOLDERS
from ctk.host.reading import ABSENT, try_exists, unknown_from

CACHE = "/etc/ld.so.cache"
CONFIGURATION = "/etc/ld.so.conf"
GLIBC_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib64/ld64.so.2")
LDCONFIG = ("/sbin/ldconfig.real", "/sbin/ldconfig", "/usr/sbin/ldconfig")
"""On Ubuntu /sbin/ldconfig is a script around ldconfig.real."""
PREFIXES = (
    "libcuda.so",
    "libcudadebugger.so",
    "libnvidia-",
    "libnvcuvid.so",
    "libnvoptix.so",
    "libEGL_nvidia.so",
    "libGLX_nvidia.so",
    "libGLESv1_CM_nvidia.so",
    "libGLESv2_nvidia.so",
    "libvdpau_nvidia.so",
    "libdxcore.so",
)
TOOLKIT_PREFIX = "libnvidia-container"
"""NVIDIA's container toolkit has libraries of that name, with versions of their own."""
FILE_NAME = re.compile(r"(lib[\w.+-]+?\.so)(?:\.([\w.+-]+))?")
DRIVER_VERSION = re.compile(r"\d{3,}(?:\.\d+)+")
CORE = ("libnvidia-ml.so", "libcuda.so")
COMPAT_FOLDERS = "/usr/local/cuda*/compat"
COMPAT_LIBRARY = re.compile(r"libcuda\.so\.(\d+\.\d+(?:\.\d+)*)")
GLIBC_OF_TALOS = "/usr/local/glibc/usr/lib"
"""The system has another C library, and keeps glibc for the driver alone."""
HARMFUL = ("LD_LIBRARY_PATH", "LD_PRELOAD", "CUDA_VISIBLE_DEVICES", "XDG_CONFIG_HOME")
HARMFUL_PREFIX = "NVIDIA_"
"""Inherited by every runtime and hook that the daemon starts: other libraries, devices, or configuration than meant."""
INCLUDE_LIMIT = 8
SEARCH_VARIABLE = "LD_LIBRARY_PATH"


def collect_loader(host: Host, engines: tuple[EngineInstallation, ...] | Unknown = ()) -> Loader:
    """Never raises. engines: those whose environment is looked at, if they run and are the system's own."""
    names = _FolderNames(host)
    cache = _collect_cache(host, names)
    return Loader(
        glibc=_first(host, GLIBC_LOADERS),
        ldconfig=_first(host, LDCONFIG),
        cache=cache,
        files=_collect_files(host, names, cache),
        search=_collect_search(host),
        compat=_collect_compat(host),
        daemons=engines if isinstance(engines, Unknown) else tuple(_collect_daemons(host, engines)),
    )


class _FolderNames:
    """What lies in a folder, listed once; nothing where there is no such folder. Raises OSError."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: dict[str, frozenset[str]] = {}

    def of(self, folder: str) -> frozenset[str]:
        if folder not in self._known:
            try:
                self._known[folder] = frozenset(self._host.list_directory(folder))
            except ABSENT:
                self._known[folder] = frozenset()
        return self._known[folder]


def _first(host: Host, paths: Iterable[str]) -> str | None | Unknown:
    hidden = None
    for path in paths:
        there = try_exists(host, path)
        if there is True:
            return path
        if isinstance(there, Unknown):
            hidden = there
    return hidden


def _collect_cache(host: Host, names: _FolderNames) -> LoaderCache | None | Unknown:
    try:
        data = host.read_bytes(CACHE)
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)
    try:
        found = parse_ld_cache(data, PREFIXES)
    except ValueError as error:
        return LoaderCache(CACHE, fault=str(error))
    entries = tuple(_cached(host, names, entry) for entry in found.entries if _is_drivers(entry.name))
    return LoaderCache(CACHE, found.format, found.total, entries)


def _is_drivers(name: str) -> bool:
    return name.startswith(PREFIXES) and not name.startswith(TOOLKIT_PREFIX)


def _cached(host: Host, names: _FolderNames, entry: LdCacheEntry) -> CachedLibrary:
    if entry.name.startswith(CORE):
        real = _resolve(host, entry.path)
    else:
        folder, _, name = entry.path.rpartition("/")
        try:
            real = entry.path if name in names.of(folder) else None
        except OSError as error:
            real = unknown_from(error)
    return CachedLibrary(entry.name, entry.path, entry.architecture, entry.bits, real)


def _resolve(host: Host, path: str) -> str | None | Unknown:
    """The file behind all links, as a path of the host; None: there is none, or they go in a circle."""
    import errno

    try:
        real = host.real_path(path)
        if not host.exists(path):
            return None
    except ABSENT:
        return None
    except OSError as error:
        return None if error.errno == errno.ELOOP else unknown_from(error)
    return real if host.root == "/" else real.removeprefix(host.root)


def _collect_files(
    host: Host, names: _FolderNames, cache: LoaderCache | None | Unknown
) -> tuple[LibraryFile, ...] | Unknown:
    """Each folder once, by whichever of its names comes first (/lib64 is a link to /usr/lib64 on most hosts)."""
    entries = cache.entries if isinstance(cache, LoaderCache) else ()
    named = [entry.path.rpartition("/")[0] for entry in entries]
    seen: set[str] = set()
    found: list[LibraryFile] = []
    try:
        for folder in dict.fromkeys((*named, *_usual_folders(host))):
            place = host.real_path(folder)
            if place not in seen:
                seen.add(place)
                found += _look_into(host, folder, names.of(folder))
    except OSError as error:
        return unknown_from(error)
    return tuple(found)


def _usual_folders(host: Host) -> Iterator[str]:
    for folder in (*LIBRARY_FOLDERS, GLIBC_OF_TALOS):
        yield from host.glob(folder) if "*" in folder else (folder,)


def _look_into(host: Host, folder: str, names: frozenset[str]) -> Iterator[LibraryFile]:
    """Following the links of all would cost a millisecond for every few libraries."""
    for name in sorted(name for name in names if _is_drivers(name)):
        parts = FILE_NAME.fullmatch(name)
        if parts is None:
            continue
        path, stem, version = f"{folder}/{name}", parts[1], parts[2] or ""
        if stem in CORE:
            yield LibraryFile(path, stem, version, _target(host, path), _resolve(host, path))
        elif DRIVER_VERSION.fullmatch(version):
            yield LibraryFile(path, stem, version, None, path)


def _target(host: Host, path: str) -> str | None:
    try:
        return host.readlink(path)
    except OSError:  # no link
        return None


def _collect_search(host: Host) -> tuple[SearchFolder, ...] | Unknown:
    found: list[SearchFolder] = []
    try:
        _read_configuration(host, CONFIGURATION, found, 0)
    except OSError as error:
        return unknown_from(error)
    named = host.get_environment().get(SEARCH_VARIABLE, "") if host.is_live else ""
    found += [_search_folder(host, path, SEARCH_VARIABLE, None) for path in named.split(":") if path.startswith("/")]
    return tuple(found)


def _read_configuration(host: Host, path: str, found: list[SearchFolder], depth: int) -> None:
    """Folders one a line, `include` with patterns, comments: ldconfig(8) and glibc's elf/ldconfig.c."""
    try:
        text = host.read_text(path)
    except ABSENT:
        return
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if words[:1] == ["include"] and depth < INCLUDE_LIMIT:
            for pattern in words[1:]:
                absolute = pattern if pattern.startswith("/") else f"{path.rpartition('/')[0]}/{pattern}"
                for file in host.glob(absolute):
                    _read_configuration(host, file, found, depth + 1)
        elif words and words[0].startswith("/"):
            found.append(_search_folder(host, words[0].partition("=")[0].rstrip("/") or "/", path, number))


def _search_folder(host: Host, path: str, origin: str, line: int | None) -> SearchFolder:
    return SearchFolder(path, origin, line, try_exists(host, path))


def _collect_compat(host: Host) -> tuple[CompatFolder, ...] | Unknown:
    """One for each folder, though /usr/local/cuda and /usr/local/cuda-13 are often two names of the same."""
    found: dict[str, CompatFolder] = {}
    try:
        for folder in host.glob(COMPAT_FOLDERS):
            names = host.list_directory(folder)
            versions = [match[1] for name in names if (match := COMPAT_LIBRARY.fullmatch(name)) is not None]
            found.setdefault(host.real_path(folder), CompatFolder(folder, versions[-1] if versions else None))
    except OSError as error:
        return unknown_from(error)
    return tuple(found.values())


def parse_environment(data: bytes) -> tuple[str, ...]:
    """The names that matter in /proc/PID/environ, in its order: proc_pid_environ(5)."""
    names = (item.partition(b"=")[0].decode("utf-8", "replace") for item in data.split(b"\0"))
    return tuple(dict.fromkeys(name for name in names if name in HARMFUL or name.startswith(HARMFUL_PREFIX)))


def _collect_daemons(host: Host, engines: tuple[EngineInstallation, ...]) -> Iterator[DaemonVariables]:
    """A snap's daemon has a library path of its own, and a user's has his configuration folder: both are as meant."""
    for engine in engines:
        if engine.pid is None or engine.user is not None or engine.installation in ("snap", "docker-snap", "microk8s"):
            continue
        path = f"/proc/{engine.pid}/environ"
        try:
            names: tuple[str, ...] | Unknown = parse_environment(host.read_bytes(path))
        except ABSENT:
            names = Unknown(f"no {path}")
        except OSError as error:
            names = unknown_from(error)
        yield DaemonVariables(engine.engine, engine.pid, names)
