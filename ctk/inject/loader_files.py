"""The files that tell a container's loader where libraries are: ld.so.conf with its drop-ins, and musl's path file.

Their names are fixed, and a file that is right already is not written: however often a container starts, nothing grows.
"""

import os
import posixpath

from ctk.inject.faults import InjectFault
from ctk.inject.rootfs import Rootfs

MAIN_FILE = "/etc/ld.so.conf"
MAIN_TEXT = b"include /etc/ld.so.conf.d/*.conf\n"
DROP_INS = "/etc/ld.so.conf.d"
DRIVER_FILE = f"{DROP_INS}/00-driver-ctk.conf"
SYSTEM_FILE = f"{DROP_INS}/zz-system-ctk.conf"
OWN_FILES = (DRIVER_FILE, SYSTEM_FILE)
FILE_LIMIT_BYTES, FILES_LIMIT, DEPTH_LIMIT = 1 << 20, 512, 8
MUSL_MARKER = "/etc/alpine-release"
MUSL_DEFAULT = ("/lib", "/usr/local/lib", "/usr/lib")
"""musl's ldso/dynlink.c: its search path where the path file is missing."""
DEBIAN_MARKER = "/etc/debian_version"
OTHER_SYSTEM_FOLDERS = ("/lib", "/usr/lib", "/lib64", "/usr/lib64", "/libx32", "/usr/libx32")


class LoaderConfiguration:
    """What ld.so.conf says: the folders in it, and whether it reads the drop-ins' folder."""

    __slots__ = ("folders", "includes_drop_ins")

    def __init__(self, folders: frozenset[str], includes_drop_ins: bool) -> None:
        self.folders = folders
        self.includes_drop_ins = includes_drop_ins


def write_loader_files(rootfs: Rootfs, folders: list[str]) -> list[str]:
    """Make the loader look into the folders; returns those that ldconfig has to be told of as arguments."""
    check_folders(folders)
    if rootfs.has(MUSL_MARKER):
        _write_musl_path(rootfs, folders)
    if not rootfs.has(MAIN_FILE):
        rootfs.write(MAIN_FILE, MAIN_TEXT)
    configuration = read_configuration(rootfs)
    unknown = [folder for folder in dict.fromkeys(folders) if _clean(folder) not in configuration.folders]
    if unknown:
        rootfs.write(DRIVER_FILE, _lines(unknown))
    else:
        rootfs.remove(DRIVER_FILE)
    rootfs.write(SYSTEM_FILE, _lines(list(system_folders(rootfs))))
    return [] if configuration.includes_drop_ins else unknown


def check_folders(folders: list[str]) -> None:
    """A folder is one word of ld.so.conf, and no option of ldconfig."""
    for folder in folders:
        if not folder.startswith("/") or any(character.isspace() or character in ":,#=" for character in folder):
            raise InjectFault(f"cannot make the loader look into {folder!r}: it is no absolute path without spaces")


def system_folders(rootfs: Rootfs) -> tuple[str, ...]:
    """The container's own library folders; those that are built into the host's ldconfig may be others."""
    if rootfs.has(DEBIAN_MARKER):
        triplet = f"{os.uname().machine}-linux-gnu"
        return (f"/lib/{triplet}", f"/usr/lib/{triplet}", "/lib", "/usr/lib")
    return OTHER_SYSTEM_FOLDERS


def read_configuration(rootfs: Rootfs) -> LoaderConfiguration:
    """Follow ld.so.conf and its includes, without our own files. Raises InjectFault for what ldconfig would hang on."""
    folders: set[str] = set()
    seen: set[str] = set()
    pending = [(MAIN_FILE, 0)]
    while pending:
        path, depth = pending.pop()
        if path in seen or len(seen) >= FILES_LIMIT:
            continue
        seen.add(path)
        if path in OWN_FILES:
            continue
        text = (rootfs.read(path, FILE_LIMIT_BYTES) or b"").decode("utf-8", "replace")
        for word, value in _parse(text):
            if word == "include" and depth < DEPTH_LIMIT:
                pending += [(name, depth + 1) for name in _expand(rootfs, posixpath.dirname(path), value)]
            elif word == "folder":
                folders.add(_clean(value))
    return LoaderConfiguration(frozenset(folders), SYSTEM_FILE in seen or _reads_drop_ins(rootfs))


def _reads_drop_ins(rootfs: Rootfs) -> bool:
    text = (rootfs.read(MAIN_FILE, FILE_LIMIT_BYTES) or b"").decode("utf-8", "replace")
    patterns = [posixpath.join("/etc", value) for word, value in _parse(text) if word == "include"]
    return any(matches(SYSTEM_FILE, pattern) for pattern in patterns)


def _parse(text: str) -> list[tuple[str, str]]:
    """Glibc's elf/ldconfig.c, parse_conf: `include PATTERN…`, else one folder a line; `hwcap` lines are ignored."""
    found = []
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words and words[0] == "include":
            found += [("include", word) for word in words[1:]]
        elif words and words[0] != "hwcap":
            found.append(("folder", words[0].partition("=")[0]))
    return found


def _expand(rootfs: Rootfs, folder: str, pattern: str) -> list[str]:
    """The files that an include names; a pattern counts in the file's name, where everybody has it."""
    place, name_pattern = posixpath.split(posixpath.join(folder, pattern))
    if not any(character in name_pattern for character in "*?["):
        return [posixpath.join(place, name_pattern)]
    names = [name for name in rootfs.list_folder(place) if not name.startswith(".") and matches(name, name_pattern)]
    return [posixpath.join(place, name) for name in names]


def matches(name: str, pattern: str) -> bool:
    """Whether a shell pattern fits. One star is what everybody has; fnmatch takes its time to load."""
    head, star, tail = pattern.partition("*")
    if star and not any(character in head + tail for character in "*?["):
        return len(name) >= len(head) + len(tail) and name.startswith(head) and name.endswith(tail)
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern)


def _write_musl_path(rootfs: Rootfs, folders: list[str]) -> None:
    path = f"/etc/ld-musl-{_musl_machine(rootfs)}.path"
    text = (rootfs.read(path, FILE_LIMIT_BYTES) or b"").decode("utf-8", "surrogateescape")
    present = [word for line in text.splitlines() for word in line.split(":") if word] or list(MUSL_DEFAULT)
    wanted = list(dict.fromkeys([*present, *folders]))
    if wanted != present or not text:
        rootfs.write(path, _lines(wanted))


def _musl_machine(rootfs: Rootfs) -> str:
    """As the image's own loader is called, which is not always what uname says (armhf)."""
    names = [name for name in rootfs.list_folder("/lib") if name.startswith("ld-musl-") and name.endswith(".so.1")]
    return names[0][len("ld-musl-") : -len(".so.1")] if names else os.uname().machine


def _clean(folder: str) -> str:
    return posixpath.normpath(folder)


def _lines(words: list[str]) -> bytes:
    return "".join(f"{word}\n" for word in words).encode("utf-8", "surrogateescape")
