"""Which files an engine reads after its main one, and the socket they name; it judges no setting."""

import os
from collections.abc import Iterable, Mapping

from ctk.errors import ParseFault
from ctk.facts import Unknown
from ctk.host import Host
from ctk.host.reading import try_read_text, unknown_from
from ctk.record import Record


class FileSet(Record):
    """What the main file leads to. imports are containerd's patterns as written, drop_ins the files in load order.

    version is containerd's config version of the main file, None when it names none.
    """

    imports: tuple[str, ...] = ()
    drop_ins: tuple[str, ...] = ()
    socket: str | None = None
    version: int | None = None


def collect_containerd_files(host: Host, path: str) -> FileSet:
    """Breadth first, each file once, as containerd's LoadConfig goes: a file's imports follow all of its siblings.

    A pattern without a star is a path; relative ones start at the folder of the file that holds them
    (containerd-config.toml.5, "imports").
    """
    loaded = {path: _read_toml(host, path)}
    imports = _strings(loaded[path].get("imports"))
    pending = _resolve_imports(host, path, imports)
    while pending:
        file = pending.pop(0)
        if file not in loaded and _is_file(host, file):
            loaded[file] = _read_toml(host, file)
            pending += _resolve_imports(host, file, _strings(loaded[file].get("imports")))
    version = loaded[path].get("version")
    return FileSet(
        imports=imports,
        drop_ins=tuple(loaded)[1:],
        socket=_last_string(loaded.values(), ("grpc", "address")),
        version=version if type(version) is int else None,
    )


def collect_crio_files(host: Host, path: str, directory: str) -> FileSet:
    """The main file, then every file below the drop-in folder, recursively, in byte order (crio.8, --config-dir)."""
    drop_ins = tuple(_walk(host, directory))
    documents = [_read_toml(host, file) for file in (path, *drop_ins)]
    return FileSet(drop_ins=drop_ins, socket=_last_string(documents, ("crio", "api", "listen")))


def collect_docker_socket(host: Host, path: str) -> str | None:
    """The first unix socket of daemon.json's `hosts`."""
    text = try_read_text(host, path)
    if not isinstance(text, str) or '"hosts"' not in text:
        return None
    import json

    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None  # whoever edits the file reports what is wrong with it, with line and column
    hosts = document.get("hosts") if isinstance(document, dict) else None
    return first_unix_socket(_strings(hosts))


def collect_conf_files(host: Host, directory: str) -> tuple[str, ...]:
    """DIRECTORY/*.conf in byte order: containers.conf(5)."""
    try:
        return host.glob(f"{directory}/*.conf")
    except OSError:
        return ()


def collect_toml_files(host: Host, directory: str) -> tuple[str, ...]:
    """DIRECTORY/*.toml in byte order."""
    try:
        return host.glob(f"{directory}/*.toml")
    except OSError:
        return ()


def first_unix_socket(addresses: tuple[str, ...]) -> str | None:
    """The path of the first unix:// address."""
    for address in addresses:
        if address.startswith("unix://"):
            return address.removeprefix("unix://")
    return None


def import_directories(path: str, imports: tuple[str, ...]) -> tuple[str, ...]:
    """The folders of which containerd imports every *.toml."""
    folders = []
    for pattern in imports:
        folder, _, name = _absolute_import(path, pattern).rpartition("/")
        if name == "*.toml" and "*" not in folder:
            folders.append(folder)
    return tuple(folders)


def _absolute_import(parent: str, pattern: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(parent), pattern))


def _resolve_imports(host: Host, parent: str, imports: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for pattern in imports:
        path = _absolute_import(parent, pattern)
        if "*" not in path:
            found.append(path)
            continue
        try:
            found += host.glob(path)
        except OSError:
            continue
    return found


def _read_toml(host: Host, path: str) -> Mapping[str, object]:
    """The document, empty when it cannot be read or is none; reporting that is the editor's business."""
    text = try_read_text(host, path)
    if not isinstance(text, str) or not any(word in text for word in ("imports", "address", "listen", "version")):
        return {}
    from ctk.edit import toml  # it keeps what it has parsed: the editor reads the same files next

    try:
        return toml.load(text.removeprefix("\ufeff"), path)
    except ParseFault:
        return {}


def _last_string(documents: Iterable[Mapping[str, object]], keys: tuple[str, ...]) -> str | None:
    """The value of a nested key in the last document that has one."""
    found = None
    for document in documents:
        value: object = document
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str) and value:
            found = value
    return found


def _strings(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _is_file(host: Host, path: str) -> bool:
    try:
        return host.is_file(path)
    except OSError:
        return False


def _walk(host: Host, directory: str) -> list[str]:
    """Folders are entered, links to folders are not: as Go's filepath.Walk, which CRI-O uses."""
    try:
        names = host.list_directory(directory)
    except OSError:
        return []
    found = []
    for name in names:
        path = f"{directory}/{name}"
        if not _is_directory(host, path):
            found += [path] if _is_file(host, path) else []
        elif not host.is_link(path):
            found += _walk(host, path)
    return found


def _is_directory(host: Host, path: str) -> bool:
    try:
        return host.is_directory(path)
    except OSError:
        return False


def config_exists(host: Host, path: str) -> bool | Unknown:
    """Whether something is at the path, a dangling link included: it is in the way of a new file."""
    try:
        return host.exists(path) or host.is_link(path)
    except OSError as error:
        return unknown_from(error)
