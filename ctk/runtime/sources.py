"""Reading engine configuration: bytes to layers in load order, or a fault that names the path; writes nothing."""

import errno
import stat
from typing import TYPE_CHECKING

from ctk.edit.text import ConfigText, decode_config
from ctk.engines.base import Layer
from ctk.errors import ReadFault
from ctk.record import Record

if TYPE_CHECKING:
    from ctk.host import Host


class Source(Record):
    """One file as read. path is the host's, target the real file behind links; data None = there is none.

    mode, uid and gid are the file's, or those that a new one should get.
    """

    path: str
    target: str
    data: bytes | None
    text: ConfigText
    mode: int
    uid: int
    gid: int

    def layer(self) -> Layer:
        """The file as the engines see it."""
        return Layer(self.path, None if self.data is None else self.text.text)


def read_source(host: "Host", path: str) -> Source:
    """Read one file. Raises ReadFault for a directory, a dangling link or a missing right, ParseFault for UTF-16."""
    try:
        target = host.real_path(path)
        data = host.read_bytes(path)
        status = host.stat(path)
    except FileNotFoundError:
        return _missing(host, path)
    except OSError as error:
        raise _read_fault(path, error) from error
    return Source(
        path, target, data, decode_config(data, path), stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid
    )


def _missing(host: "Host", path: str) -> Source:
    try:
        is_link = host.is_link(path)
    except OSError as error:
        raise _read_fault(path, error) from error
    if is_link:
        raise ReadFault(
            f"cannot read {path}: it is a symbolic link to {host.readlink(path)}, which does not exist",
            hint="Restore the file it points to, or remove the link. Nothing was changed.",
            path=path,
        )
    uid, gid = _owner_above(host, path)
    return Source(path, host.real_path(path), None, ConfigText("", b""), 0o644, uid, gid)


def _owner_above(host: "Host", path: str) -> tuple[int, int]:
    """The owner of the nearest folder that exists: a rootless user's configuration belongs to that user."""
    folder = path
    while folder not in ("/", ""):
        folder = folder.rpartition("/")[0] or "/"
        try:
            status = host.stat(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _read_fault(path, error) from error
        return status.st_uid, status.st_gid
    return 0, 0


def _read_fault(path: str, error: OSError) -> ReadFault:
    causes = {
        errno.EISDIR: "it is a directory, not a file",
        errno.EACCES: "permission denied",
        errno.ENOTDIR: "a part of its path is not a directory",
        errno.ELOOP: "its symbolic links form a loop",
    }
    cause = causes.get(error.errno or 0, error.strerror or str(error))
    hint = "Run the command as root (sudo). " if error.errno == errno.EACCES else "Name the right file with --config. "
    return ReadFault(f"cannot read {path}: {cause}", hint=hint + "Nothing was changed.", path=path)


def read_containerd(host: "Host", main: str, drop_in: str | None) -> tuple[Source, ...]:
    """The main file and every file it imports, in containerd's order; a drop-in still to be made is among them."""
    from ctk.engines.containerd_layout import import_covers

    loaded: dict[str, Source] = {}
    pending = [main]
    while pending:
        path = pending.pop(0)
        if path in loaded:
            continue
        loaded[path] = source = read_source(host, path)
        for pattern in _patterns(source):
            found = list(_expand(host, pattern, path))
            if drop_in and import_covers(pattern, path, drop_in) and drop_in not in found:
                found = sorted([*found, drop_in])
            pending += found
    if drop_in and drop_in not in loaded:
        loaded[drop_in] = read_source(host, drop_in)
    return tuple(loaded.values())


def _patterns(source: Source) -> list[str]:
    from ctk.edit import toml

    imports = toml.load(source.text.text, source.path).get("imports")
    return [item for item in imports if isinstance(item, str)] if isinstance(imports, list) else []


def _expand(host: "Host", pattern: str, parent: str) -> tuple[str, ...]:
    """The files an import names: relative to the importing file, a glob only if it holds a star (containerd)."""
    from ctk.engines.containerd_layout import absolute_import

    absolute = absolute_import(pattern, parent)
    if "*" in absolute:
        return tuple(sorted(host.glob(absolute)))
    return (absolute,)


def read_crio(host: "Host", main: str, folder: str, target: str) -> tuple[Source, ...]:
    """crio.conf, then every file below the drop-in folder as CRI-O walks it; a target still to be made is in its place.

    crio.8, --config-dir: all files, whatever their names end in, in byte order, a folder's at the place of its name.
    """
    files = _walk(host, folder)
    if target != main and target not in files:
        files.append(target)
    ordered = sorted(files, key=lambda path: [part.encode("utf-8", "surrogateescape") for part in path.split("/")])
    return tuple(read_source(host, path) for path in (main, *ordered))


def _walk(host: "Host", folder: str) -> list[str]:
    try:
        paths = [f"{folder}/{name}" for name in host.list_directory(folder)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _read_fault(folder, error) from error
    files: list[str] = []
    for path in paths:
        if not host.is_directory(path):
            files.append(path)
        elif not host.is_link(path):
            files += _walk(host, path)
    return files


def folder_files(host: "Host", path: str) -> tuple[str, ...]:
    """The *.toml files beside `path`."""
    folder = path.rpartition("/")[0]
    try:
        return tuple(f"{folder}/{name}" for name in host.list_directory(folder) if name.endswith(".toml"))
    except OSError:
        return ()
