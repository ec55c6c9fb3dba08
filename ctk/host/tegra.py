"""A Jetson's mount specification and what of it is on the host, and WSL's driver stores; it judges nothing."""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from ctk.cdi.driver_files import WSL_FOLDER, WSL_LIBRARY, WSL_MARK
from ctk.facts.driver_root import CsvLine, FileLink, Tegra, Wsl, WslStore
from ctk.formats.mount_spec import BASE_FILES, MountLine, parse_mount_spec
from ctk.host import Host
from ctk.host.libraries import LibrarySearch, describe_libraries
from ctk.host.paths import LINK_LIMIT
from ctk.host.reading import ABSENT, try_exists, try_read_text, unknown_from
from ctk.host.root_nodes import collect_nodes

RELEASE = "/etc/nv_tegra_release"
FAMILY = "/sys/devices/soc0/family"
COMPATIBLE = "/proc/device-tree/compatible"
ORIN = "tegra234"


def is_tegra(host: Host) -> bool:
    """The marks that NVIDIA's toolkit goes by."""
    family = try_read_text(host, FAMILY)
    return try_exists(host, RELEASE) is True or (isinstance(family, str) and family.lower().startswith("tegra"))


def is_ignored(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether a pattern of --csv.ignore-pattern takes a link out; `**/x` is about the name alone."""
    name = path.rpartition("/")[2]
    return any(
        fnmatchcase(name, pattern[3:]) if pattern.startswith("**/") else fnmatchcase(path, pattern)
        for pattern in patterns
    )


class CsvQuery:
    """Which files say what is mounted; ignored: patterns of links that are left out."""

    def __init__(self, folder: str, files: Sequence[str], ignored: Sequence[str] = ()) -> None:
        self.files = tuple(files) or tuple(f"{folder.rstrip('/')}/{name}" for name in BASE_FILES)
        self.given = bool(files)
        self.ignored = tuple(ignored)


def collect_tegra(host: Host, search: LibrarySearch, dev_root: str, query: CsvQuery) -> Tegra:
    """host: the machine, whose files the specification is; search: of the driver root that it speaks of."""
    lines: list[CsvLine] = []
    missing: list[tuple[str, str]] = []
    read: list[str] = []
    for path in query.files:
        text = try_read_text(host, path)
        if not isinstance(text, str):
            if text is not None or query.given:
                missing.append((path, text.reason if text is not None else "no such file"))
            continue
        read.append(path)
        for line in parse_mount_spec(text):
            if line.fault:
                missing.append((f"{path}:{line.number}", f"{line.fault}: {line.text}"))
            else:
                lines += _resolve(host, search, dev_root, line, path, query.ignored, missing)
    compatible = try_read_text(host, COMPATIBLE)
    return Tegra(
        is_tegra=is_tegra(host),
        lines=tuple(lines),
        missing=tuple(missing),
        files=tuple(read),
        release=RELEASE if try_exists(search.host, RELEASE) is True else None,
        is_orin=isinstance(compatible, str) and ORIN in compatible,
    )


def _resolve(
    host: Host,
    search: LibrarySearch,
    dev_root: str,
    line: MountLine,
    file: str,
    ignored: tuple[str, ...],
    missing: list[tuple[str, str]],
) -> Iterator[CsvLine]:
    """One line for each path that a line's pattern finds."""
    if line.kind == "sym" and is_ignored(line.path, ignored):
        return
    if line.kind == "dev":
        nodes = collect_nodes(host, dev_root, (line.path,))
        yield from (CsvLine("dev", node.path, file, node=node) for node in nodes.nodes)
        if not nodes.nodes:
            missing.append((line.path, f"no device node (named in {file})"))
        return
    try:
        paths = search.host.glob(line.path)
        found = [resolved for path in paths if (resolved := _resolve_file(search, line.kind, path, file))]
    except OSError as error:
        missing.append((line.path, f"{unknown_from(error).reason} (named in {file})"))
        return
    if not found:
        missing.append((line.path, f"not there (named in {file})"))
    yield from found


def _resolve_file(search: LibrarySearch, kind: str, path: str, file: str) -> CsvLine | None:
    root = search.host
    if not root.exists(path) or (kind == "dir") != root.is_directory(path):
        return None
    if kind == "dir":
        return CsvLine(kind, path, file, target=path)
    library = next(describe_libraries(search, (path,)), None) if kind == "lib" else None
    return CsvLine(kind, path, file, target=search.real(path), links=tuple(_chain(root, path)), library=library)


def _chain(root: Host, path: str) -> Iterator[FileLink]:
    """Every link from the path to the final file."""
    for _ in range(LINK_LIMIT):
        if not root.is_link(path):
            return
        text = root.readlink(path)
        yield FileLink(path, text)
        path = os.path.normpath(os.path.join(os.path.dirname(path), text))


def collect_wsl(host: Host, cached: Sequence[tuple[str, str]] = ()) -> Wsl:
    """The library of WSL's device and the driver stores. cached: name and path of entries of the loader's cache."""
    places = [path for name, path in cached if name == WSL_LIBRARY]
    own = f"{WSL_FOLDER}/lib/{WSL_LIBRARY}"
    dxcore = next((path for path in (own, *places) if try_exists(host, path) is True), None)
    return Wsl(dxcore, tuple(_stores(host)) if dxcore else ())


def _stores(host: Host) -> Iterator[WslStore]:
    folder = f"{WSL_FOLDER}/drivers"
    try:
        names = host.list_directory(folder)
    except OSError:
        return
    for name in names:
        place = f"{folder}/{name}"
        try:
            files = host.list_directory(place)
            changed = host.stat(f"{place}/{WSL_MARK}").st_mtime if WSL_MARK in files else 0.0
        except (*ABSENT, PermissionError):
            continue
        yield WslStore(place, files, changed)
