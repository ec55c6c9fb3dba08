"""Modes and owners of all that root's hooks and runtimes trust, with the folders above; it changes none."""

import stat
from collections.abc import Iterable, Iterator

from ctk.facts import Unknown
from ctk.facts.engines import EngineInstallation
from ctk.facts.rights import Place, Rights
from ctk.host import Host
from ctk.host.driver_files import UDEV_FOLDERS
from ctk.host.local import SYSTEM_FOLDERS
from ctk.host.oci_hooks import HOOK_FOLDERS
from ctk.host.reading import ABSENT, try_exists, unknown_from
from ctk.host.toolkit import TOOL_FOLDERS, TOOL_NAMES
from ctk.host.toolkit_in_force import Installations

PATTERNS = (
    "/etc/nvidia-container-runtime/config.toml",
    "/etc/nvidia-container-toolkit/*.env",
    "/etc/ctk/*",
    "/etc/docker/daemon.json",
    "/etc/cdi/*",
    "/run/cdi/*",
    "/sbin/ldconfig",
    "/sbin/ldconfig.real",
    "/etc/modprobe.d/*nvidia*",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d/*.conf",
)
FOLDERS = ("/etc/nvidia-container-runtime", "/etc/cdi", "/run/cdi", "/etc/docker", *HOOK_FOLDERS)
MOST_FILES = 500


def collect_rights(host: Host, engines: Installations | Unknown) -> Rights | Unknown:
    """Each place once, for the first file it leads to."""
    known = engines if isinstance(engines, tuple) else ()
    try:
        owner = host.stat("/")
    except OSError as error:
        return unknown_from(error)
    found: dict[str, Place] = {}
    hidden: dict[Unknown, None] = {}
    for path in list(_trusted(host, known, hidden))[:MOST_FILES]:
        for place in _way(host, path) if try_exists(host, path) is not False else ():
            if place in found:
                continue
            try:
                status = host.stat(place)
            except ABSENT:
                continue
            except OSError as error:
                hidden.setdefault(Unknown(f"{place}: {unknown_from(error).reason}"))
                continue
            # Below another root the owner of its top stands for root: files may have been unpacked by anybody.
            uid = 0 if status.st_uid == owner.st_uid and not host.is_live else status.st_uid
            gid = 0 if status.st_gid == owner.st_gid and not host.is_live else status.st_gid
            mode = stat.S_IMODE(status.st_mode)
            found[place] = Place(place, mode, uid, gid, path, stat.S_ISDIR(status.st_mode))
    return Rights(tuple(found.values()), next(iter(hidden), None))


def _trusted(host: Host, engines: Iterable[EngineInstallation], hidden: dict[Unknown, None]) -> Iterator[str]:
    yield from FOLDERS
    for pattern in (*PATTERNS, *(f"{folder}/*nvidia*.rules" for folder in UDEV_FOLDERS)):
        try:
            yield from host.glob(pattern)
        except OSError as error:
            hidden.setdefault(Unknown(f"{pattern}: {unknown_from(error).reason}"))
    for name in TOOL_NAMES:
        if name.startswith("nvidia-"):  # ctk's own lie where the admin has put them, and count where an engine uses one
            yield from (f"{folder}/{name}" for folder in (*SYSTEM_FOLDERS, *TOOL_FOLDERS))
    for installation in engines:
        if installation.user is None:
            yield from _of_engine(installation)


def _of_engine(installation: EngineInstallation) -> Iterator[str]:
    yield installation.config_path
    yield from installation.drop_ins
    files = installation.files
    for runtime in () if isinstance(files, Unknown) else files.runtimes:
        if runtime.path is not None and runtime.path.startswith("/"):
            yield runtime.path


def _way(host: Host, path: str) -> list[str]:
    """The file and all folders above it, as written and behind the links on the way."""
    try:
        real = "/" + host.real_path(path).removeprefix(host.root).lstrip("/")
    except OSError:
        real = path
    return list(dict.fromkeys([*_upwards(path), *_upwards(real)]))


def _upwards(path: str) -> list[str]:
    folders = [path]
    while (folder := folders[-1].rpartition("/")[0]) and folder != folders[-1]:
        folders.append(folder)
    return folders
