"""The folders of CDI specs, the files in them, and what those name on the host; it judges none of it."""

import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ctk.facts import Unknown
from ctk.facts.cdi import DEFAULT_FOLDERS, Cdi, CdiFile, CdiFolder, CdiHostPath, SpecFault
from ctk.facts.cdi_spec import CdiSpec
from ctk.host import Host
from ctk.host.processes import format_time
from ctk.host.reading import ABSENT, unknown_from

if TYPE_CHECKING:
    from ctk.facts.engines import EngineInstallation
    from ctk.facts.toolkit_setup import ToolkitSetup

USUAL_FOLDERS = (*DEFAULT_FOLDERS, "/run/cdi")
"""/run/cdi is what /var/run/cdi is on most hosts; where it is not, a spec in it is read by nobody."""
ENDINGS = (".json", ".yaml")
"""container-device-interface, pkg/cdi/spec-dirs.go; names with others are passed over, and folders in folders."""
MOST_IGNORED = 50
KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFCHR: "char",
    stat.S_IFBLK: "block",
    stat.S_IFSOCK: "socket",
    stat.S_IFIFO: "pipe",
}


def collect_cdi(
    host: Host, engines: "tuple[EngineInstallation, ...] | Unknown", setup: "ToolkitSetup | Unknown"
) -> Cdi:
    """The usual folders and those that engines and toolkit name, with all that their specs name."""
    from ctk.cdi.readers import readers_of

    named: dict[str, tuple[str, ...]] = dict.fromkeys(USUAL_FOLDERS, ())
    for reader in readers_of(engines, setup):
        for folder in reader.folders:
            named[folder] = (*named.get(folder, ()), reader.name)
    cdi = collect_specs(host, named)
    return cdi._replace(host_paths=collect_host_paths(host, cdi.files))


def collect_specs(host: Host, folders: Mapping[str, Sequence[str]]) -> Cdi:
    """The folders, by who names them, and their files; one place by two names is read once. host_paths is None."""
    found = tuple(_collect_folder(host, path, tuple(names)) for path, names in folders.items())
    places: dict[str, str] = {}
    for folder in found:
        if isinstance(folder.real_path, str):
            places.setdefault(folder.real_path, folder.path)
    return Cdi(found, tuple(file for place, path in places.items() for file in _collect_files(host, place, path)), None)


def _collect_folder(host: Host, path: str, names: tuple[str, ...]) -> CdiFolder:
    try:
        status = host.stat(path)
        if not stat.S_ISDIR(status.st_mode):
            return CdiFolder(path, Unknown("it is no folder"), named_by=names)
        listed = host.list_directory(path)
    except ABSENT:
        return CdiFolder(path, None, named_by=names)
    except OSError as error:
        return CdiFolder(path, unknown_from(error), named_by=names)
    ignored = tuple(name for name in listed if not name.endswith(ENDINGS))[:MOST_IGNORED]
    real = "/" + host.real_path(path).removeprefix(host.root).lstrip("/")
    return CdiFolder(path, real, stat.S_IMODE(status.st_mode), status.st_uid, names, ignored)


def _collect_files(host: Host, place: str, path: str) -> Iterable[CdiFile]:
    for name in (name for name in host.list_directory(place) if name.endswith(ENDINGS)):
        file = collect_file(host, f"{path.rstrip('/')}/{name}", place)
        if file is not None:
            yield file


def collect_file(host: Host, path: str, folder: str) -> CdiFile | None:
    """One file with all its faults; None for a folder of such a name, which readers pass over."""
    try:
        status = host.stat(path)
        if stat.S_ISDIR(status.st_mode) and not host.is_link(path):
            return None
        data = host.read_bytes(path)
    except (*ABSENT, IsADirectoryError):
        return CdiFile(path, folder, None, (SpecFault("it is a link that leads to no file"),))
    except OSError as error:
        return CdiFile(path, folder, unknown_from(error))
    found = parse_file(data)
    return found._replace(
        path=path,
        folder=folder,
        mode=stat.S_IMODE(status.st_mode),
        uid=status.st_uid,
        modified_at=format_time(status.st_mtime),
    )


def parse_file(data: bytes) -> CdiFile:
    """What the bytes of a file say, judged by the rules of the specification; it has no path yet."""
    from ctk.cdi.load import load_spec
    from ctk.cdi.nodes import add_places
    from ctk.cdi.validate import limit_faults, validate_spec

    loaded = load_spec(data)
    rules = validate_spec(loaded.spec) if loaded.spec is not None else ()
    return CdiFile("", "", loaded.spec, add_places(data, limit_faults((*loaded.faults, *rules))))


def collect_host_paths(host: Host, files: tuple[CdiFile, ...] | Unknown) -> tuple[CdiHostPath, ...] | Unknown:
    """The state of each path that some spec names, once."""
    from ctk.cdi.host_paths import host_paths_of

    if isinstance(files, Unknown):
        return files
    specs = [file.spec for file in files if isinstance(file.spec, CdiSpec)]
    paths = dict.fromkeys(named.path for spec in specs for named in host_paths_of(spec))
    return tuple(_collect_host_path(host, path) for path in paths)


def _collect_host_path(host: Host, path: str) -> CdiHostPath:
    import os

    if not path.startswith("/"):
        return CdiHostPath(path, Unknown("it is no absolute path"))
    try:
        status = host.stat(path)
    except ABSENT:
        return CdiHostPath(path, None)
    except (OSError, ValueError) as error:
        return CdiHostPath(path, unknown_from(error) if isinstance(error, OSError) else Unknown(str(error)))
    kind = KINDS.get(stat.S_IFMT(status.st_mode), "other")
    is_device = kind in ("char", "block")
    return CdiHostPath(
        path,
        kind,
        stat.S_IMODE(status.st_mode),
        status.st_uid,
        status.st_gid,
        os.major(status.st_rdev) if is_device else None,
        os.minor(status.st_rdev) if is_device else None,
    )
