"""What the dynamic loader finds of the driver on this host: its cache, its folders, and the files there; no I/O."""

from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown

CORE_LIBRARIES = ("libnvidia-ml.so.1", "libcuda.so.1")


class CachedLibrary(NamedTuple):
    """One entry of the cache that is the driver's by its name.

    real_path None: the path leads nowhere. Only the links of the two core libraries are followed; for the others it is
    the path itself, if its folder holds such a name.
    """

    name: str
    path: str
    architecture: str
    bits: int
    real_path: str | None | Unknown = None


class LoaderCache(NamedTuple):
    """/etc/ld.so.cache. fault: why it could not be understood, "" for a sound one; entries in the loader's order."""

    path: str
    format: str = ""
    total: int = 0
    entries: tuple[CachedLibrary, ...] = ()
    fault: str = ""


class LibraryFile(NamedTuple):
    """A file of the driver in one of the usual folders, or in one the cache names.

    stem: libcuda.so; version: what stands behind it, "" for none. target: a link's text. real_path None: it leads
    nowhere, or in a circle. Of the other libraries than the two core ones only files with a driver's version are told,
    by their names alone.
    """

    path: str
    stem: str
    version: str
    target: str | None = None
    real_path: str | None | Unknown = None

    @property
    def folder(self) -> str:
        """Where it lies."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """Its file name."""
        return self.path.rpartition("/")[2]


class SearchFolder(NamedTuple):
    """A folder that the loader is told to search. origin: the file that says so, with its line, or a variable."""

    path: str
    origin: str
    line: int | None = None
    exists: bool | Unknown = True


class CompatFolder(NamedTuple):
    """A folder with CUDA's forward compatibility libraries; version: of the libcuda.so in it, None if none."""

    path: str
    version: str | None


class DaemonVariables(NamedTuple):
    """The names, never the values, of variables in a running engine's environment that change what it loads or runs."""

    engine: str
    pid: int
    names: tuple[str, ...] | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader:
    """The loader's view. cache None: there is no such file. glibc None: this system's programs use another C library.

    search: /etc/ld.so.conf and what it includes, then the caller's LD_LIBRARY_PATH; the built-in folders are not in it.
    """

    glibc: str | None | Unknown = None  # the loader itself
    ldconfig: str | None | Unknown = None
    cache: LoaderCache | None | Unknown = None
    files: tuple[LibraryFile, ...] | Unknown = ()
    search: tuple[SearchFolder, ...] | Unknown = ()
    compat: tuple[CompatFolder, ...] | Unknown = ()
    daemons: tuple[DaemonVariables, ...] | Unknown = ()  # of the system's engines that run
