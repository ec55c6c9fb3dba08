"""Finds a driver's libraries below a root: the folders named by the user, the loader's cache, the usual folders.

It opens no library but to read its SONAME, and loads none.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase

from ctk.cdi.driver_files import CACHE_PREFIXES, DRIVER_LIBRARIES, LIBRARY_FOLDERS
from ctk.facts.driver_root import FileLink, LibraryFile
from ctk.host import Host
from ctk.host.reading import ABSENT

CACHE = "/etc/ld.so.cache"
HERE = (*ABSENT, PermissionError)
CACHE_LIMIT_BYTES = 64 * 1024 * 1024


class LibrarySearch:
    """The places of one root, in order: explicit folders, the loader's cache, the usual folders. Reads each once."""

    def __init__(
        self, host: Host, architecture: str, explicit: Sequence[str] = (), folders: Sequence[str] = ()
    ) -> None:
        self.host = host
        self.architecture = architecture
        self.explicit = tuple(explicit)
        self.folders = tuple(folders) or LIBRARY_FOLDERS
        self.cache_fault = ""
        self._names: dict[str, tuple[str, ...]] = {}
        self._cached: tuple[tuple[str, str], ...] | None = None

    @property
    def searched(self) -> tuple[str, ...]:
        """The places, for people."""
        fault = f" ({self.cache_fault})" if self.cache_fault else ""
        return (*self.explicit, CACHE + fault, *self.folders)

    def names(self, folder: str) -> tuple[str, ...]:
        """What lies in a folder; nothing when it is not there or may not be read."""
        if folder not in self._names:
            try:
                self._names[folder] = self.host.list_directory(folder)
            except OSError:
                self._names[folder] = ()
        return self._names[folder]

    def cached(self) -> tuple[tuple[str, str], ...]:
        """Name and path of the cache's entries for this machine that may be of the driver."""
        if self._cached is None:
            self._cached = self._read_cache()
        return self._cached

    def _read_cache(self) -> tuple[tuple[str, str], ...]:
        from ctk.formats.ld_cache import parse_ld_cache

        try:
            cache = parse_ld_cache(self.host.read_bytes(CACHE, CACHE_LIMIT_BYTES), CACHE_PREFIXES)
        except ABSENT:
            self.cache_fault = "not there"
            return ()
        except (OSError, ValueError) as error:
            self.cache_fault = getattr(error, "strerror", None) or str(error)
            return ()
        return tuple(
            (entry.name, entry.path)
            for entry in cache.entries
            if entry.is_elf and entry.architecture == self.architecture
        )

    def groups(self) -> Iterator[Iterable[tuple[str, str]]]:
        """Names and paths, one group for each kind of place; a later one counts only where the earlier has nothing."""
        for folders in (self.explicit, None, self.folders):
            if folders is None:
                yield self.cached()
            elif folders:
                yield [
                    (name, _join(folder, name)) for folder in folders for name in self.names(folder) if ".so" in name
                ]

    def real(self, path: str) -> str:
        """The final file behind all links, as a path below the root."""
        real = self.host.real_path(path)
        return real if self.host.root == "/" else real[len(self.host.root) :] or "/"


def find_versions(search: LibrarySearch) -> tuple[str, ...]:
    """The versions of the driver's libraries, those of the first kind of place that has any, in its order."""
    for group in search.groups():
        found = [_version_of(search, name, path) for name, path in group if name.startswith(DRIVER_LIBRARIES)]
        versions = tuple(dict.fromkeys(version for version in found if version))
        if versions:
            return versions
    return ()


def _version_of(search: LibrarySearch, name: str, path: str) -> str:
    """What the final file's name ends with: 580.95.05."""
    stem, _, rest = name.partition(".so.")
    if f"{stem}.so" not in DRIVER_LIBRARIES or not rest:
        return ""
    try:
        real = search.real(path)
        if not search.host.is_file(real):
            return ""
    except HERE:
        return ""
    version = real.rpartition("/")[2].removeprefix(f"{stem}.so.")
    return version if version.count(".") and version.replace(".", "").isdigit() else ""


def find_by_name(search: LibrarySearch, name: str) -> Iterator[str]:
    """Final files of a library in the named folders and in the cache; the usual folders are somebody else's list."""
    named = [(name, _join(folder, name)) for folder in search.explicit if name in search.names(folder)]
    for entry, path in (*named, *search.cached()):
        if entry != name:
            continue
        with suppress(OSError):
            yield search.real(path)


def find_driver_folders(search: LibrarySearch, version: str) -> tuple[str, ...]:
    """The folders of the real files lib*.so.VERSION, of the first kind of place that has any. OSError: a link loop."""
    for group in search.groups():
        found: dict[str, None] = {}
        for name, path in group:
            if name.endswith(f".so.{version}") or name.startswith(DRIVER_LIBRARIES):
                real = search.real(path)
                if real.endswith(f".so.{version}") and search.host.is_file(real):
                    found.setdefault(real.rpartition("/")[0])
        if found:
            return tuple(found)
    return ()


def find_driver_libraries(search: LibrarySearch, folders: Iterable[str], version: str) -> tuple[LibraryFile, ...]:
    """Every file *.so.VERSION of these folders and of their sub-folder vdpau."""
    paths = []
    for folder in folders:
        for place in (folder, f"{folder}/vdpau"):
            paths += [f"{place}/{name}" for name in search.names(place) if name.endswith(f".so.{version}")]
    return tuple(describe_libraries(search, paths))


def find_libraries(search: LibrarySearch, patterns: Iterable[str], near: Sequence[str]) -> tuple[LibraryFile, ...]:
    """Libraries with a version of their own, each from the first kind of place that has it. near: looked in last."""
    beside = [(name, _join(folder, name)) for folder in near for name in search.names(folder)]
    return _find_in_groups(search, patterns, (*search.groups(), beside))


def find_libraries_in(
    search: LibrarySearch, patterns: Iterable[str], folders: Sequence[str]
) -> tuple[LibraryFile, ...]:
    """The same in these folders only."""
    inside = [(name, _join(folder, name)) for folder in folders for name in search.names(folder)]
    return _find_in_groups(search, patterns, (inside,))


def _find_in_groups(
    search: LibrarySearch, patterns: Iterable[str], groups: Sequence[Iterable[tuple[str, str]]]
) -> tuple[LibraryFile, ...]:
    paths: dict[str, None] = {}
    for pattern in patterns:
        for group in groups:
            found = [path for name, path in group if name.startswith(pattern.partition("*")[0])]
            matching = [real for path in found if (real := _matching(search, path, pattern))]
            if matching:
                paths.update(dict.fromkeys(matching))
                break
    return tuple(describe_libraries(search, paths))


def find_x_libraries(search: LibrarySearch, names: Iterable[str], folders: Iterable[str]) -> tuple[LibraryFile, ...]:
    """Each name in the first folder that has it."""
    places = tuple(folders)
    paths = (next((f"{folder}/{name}" for folder in places if name in search.names(folder)), None) for name in names)
    return tuple(describe_libraries(search, [path for path in paths if path is not None]))


def _matching(search: LibrarySearch, path: str, pattern: str) -> str:
    """The final file, if its name is of the pattern; a pattern without a star is a link's own name."""
    try:
        real = search.real(path)
        if not search.host.is_file(real):
            return ""
    except HERE:
        return ""
    if "*" in pattern:
        return real if fnmatchcase(real.rpartition("/")[2], pattern) else ""
    return real if path.endswith(f"/{pattern}") or _stem(path) == pattern else ""


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".so")[0] + ".so"


def describe_libraries(search: LibrarySearch, paths: Iterable[str]) -> Iterator[LibraryFile]:
    """The real files behind the paths, each once, with SONAME and the links beside them."""
    seen: set[str] = set()
    for path in paths:
        real = search.real(path)
        if real in seen or not search.host.is_file(real):
            continue
        seen.add(real)
        soname = read_soname(search.host, real)
        yield LibraryFile(real, soname, tuple(_links(search, real, soname)))


def read_soname(host: Host, path: str) -> str:
    """The SONAME in a library, "" when it has none or is no ELF file."""
    from ctk.formats.elf import parse_elf

    try:
        return parse_elf(lambda offset, count: host.read_part(path, offset, count)).soname or ""
    except (OSError, ValueError):
        return ""


def _links(search: LibrarySearch, real: str, soname: str) -> Iterator[FileLink]:
    """SONAME and lib*.so beside the file, as far as they are links that lead to it."""
    folder, _, name = real.rpartition("/")
    there = search.names(folder or "/")
    for link in dict.fromkeys((soname, name.partition(".so")[0] + ".so")):
        path = f"{folder}/{link}"
        if link and link != name and link in there and search.host.is_link(path) and search.real(path) == real:
            yield FileLink(path, search.host.readlink(path))


def _join(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"
