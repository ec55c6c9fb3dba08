"""What the values of the toolkit's config.toml find on a host: programs, accounts, driver files; it changes nothing."""

import stat
from typing import NamedTuple

from ctk.facts import Unknown
from ctk.host import Host
from ctk.host.programs import find_program
from ctk.host.reading import try_read_text

LIBRARY = "libnvidia-ml.so.1"
LIBRARY_FOLDERS = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib",
    "/usr/lib/wsl/lib",
    "/usr/lib/aarch64-linux-gnu/tegra",
)
CONTROL_NODE = "/dev/nvidiactl"


def host_fault(host: Host, check: str, value: object, driver_root: str) -> str:
    """What a value names that is not on this host, "" if nothing; check is the row's rule.

    driver_root: the driver's folder in force. These are warnings: the host may still get what is missing.
    """
    if check == "ldconfig":
        return _ldconfig_fault(host, str(value))
    if check == "ldcache":
        return _ldcache_fault(host, str(value), driver_root)
    if check == "user" and value:
        return _user_fault(host, str(value), driver_root)
    if check == "runtimes" and isinstance(value, list):
        found = any(isinstance(find_program(host, (str(name),)), str) for name in value)
        return "" if found else f"none of {', '.join(map(str, value))} was found on this host"
    if check == "driver-root" and value:
        return _root_fault(host, str(value))
    if check == "program-or-empty" and value and find_program(host, (str(value),)) is None:
        return f"{value} was not found on this host"
    return ""


def _is_there(host: Host, path: str) -> bool:
    """True also where nobody may look: then nothing can be said against it."""
    try:
        return host.is_file(path)
    except OSError:
        return True


def _ldconfig_fault(host: Host, value: str) -> str:
    path = value.removeprefix("@")
    if not value.startswith("@") or _is_there(host, path):
        return ""  # without the @ it is a program of the container
    there = next((other for other in ("/sbin/ldconfig.real", "/sbin/ldconfig") if _is_there(host, other)), None)
    return f"{path} does not exist here" + (f", but {there} does: @{there}" if there else ", nor any other ldconfig")


def _ldcache_fault(host: Host, value: str, driver_root: str) -> str:
    path = f"{driver_root.rstrip('/')}{value or '/etc/ld.so.cache'}"
    return "" if _is_there(host, path) else f"{path} does not exist here: no library is found by it"


def _root_fault(host: Host, root: str) -> str:
    if find_driver_library(host, root) is not None:
        return ""
    own = isinstance(find_driver_library(host, "/"), str)
    return f"there is no {LIBRARY} below {root}" + ("; the host itself has one: unset the key" if own else "")


class _Account(NamedTuple):
    """Who nvidia-container-cli becomes; None = no such name."""

    uid: int | None
    gid: int | None


def _user_fault(host: Host, value: str, driver_root: str) -> str:
    user, _, group = value.partition(":")
    account = _resolve(host, user, group)
    if account.uid is None:
        return f"there is no user {user!r} on this host"
    if account.gid is None:
        return f"there is no group {group or user!r} on this host"
    library = find_driver_library(host, driver_root)
    wanted = [(library, 0o4)] if isinstance(library, str) else []
    wanted.append((f"{driver_root.rstrip('/')}{CONTROL_NODE}", 0o6))
    for path, rights in wanted:
        obstacle = _obstacle(host, path, rights, account.uid, account.gid)
        if obstacle:
            return f"{value} may not {'read' if rights == 0o4 else 'open'} {path}: {obstacle}"
    return ""


def _resolve(host: Host, user: str, group: str) -> _Account:
    fields = _account(host, "/etc/passwd", user)
    uid = int(user) if user.isdigit() else int(fields[2]) if fields else None
    if not group:
        return _Account(uid, int(fields[3]) if fields else 0 if user.isdigit() else None)
    found = _account(host, "/etc/group", group)
    return _Account(uid, int(group) if group.isdigit() else int(found[2]) if found else None)


def _account(host: Host, path: str, name: str) -> list[str] | None:
    """The fields of passwd(5) or group(5); names from a directory service are in no file (nsswitch.conf(5))."""
    text = try_read_text(host, path)
    lines = text.splitlines() if isinstance(text, str) else []
    numbered = 4 if path.endswith("passwd") else 3
    for line in lines:
        fields = line.split(":")
        if fields[0] == name and len(fields) >= numbered and all(field.isdigit() for field in fields[2:numbered]):
            return fields
    return _from_system(path, name) if host.is_live else None


def _from_system(path: str, name: str) -> list[str] | None:
    import grp
    import pwd

    try:
        if path.endswith("passwd"):
            user = pwd.getpwnam(name)
            return [name, "", str(user.pw_uid), str(user.pw_gid)]
        return [name, "", str(grp.getgrnam(name).gr_gid)]
    except KeyError:
        return None


def _obstacle(host: Host, path: str, rights: int, uid: int, gid: int) -> str:
    """The first place on the way that the mode bits close to this user, "" if none or nobody may look."""
    if uid == 0 or not _is_known_there(host, path):
        return ""
    places = [path]
    while (folder := places[0].rpartition("/")[0] or "/") != places[0] and places[0] != "/":
        places.insert(0, folder)
    for place in places:
        try:
            status = host.stat(place)
        except OSError:
            return ""
        needed = 0o1 if stat.S_ISDIR(status.st_mode) else rights
        shift = 6 if status.st_uid == uid else 3 if status.st_gid == gid else 0
        if (status.st_mode >> shift) & needed != needed:
            return f"{place} is closed to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return ""


def _is_known_there(host: Host, path: str) -> bool:
    try:
        return host.exists(path)
    except OSError:
        return False


def find_driver_library(host: Host, root: str) -> str | None | Unknown:
    """libnvidia-ml.so.1 below a driver root, in the folders libraries are in; None = looked and not there."""
    hidden = None
    for folder in LIBRARY_FOLDERS:
        path = f"{root.rstrip('/')}{folder}/{LIBRARY}"
        try:
            if host.exists(path):
                return path
        except OSError as error:
            hidden = Unknown(f"{path}: {error.strerror}")
    return hidden
