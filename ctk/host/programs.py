"""Programs of the host: where they lie, whether they may be run by us, and the version they name."""

import os
import re
import stat
from collections.abc import Iterable, Sequence

from ctk.facts import Unknown
from ctk.host import Host
from ctk.host.local import SYSTEM_FOLDERS
from ctk.host.reading import ABSENT, unknown_from
from ctk.host.users import FIRST_USER

VERSION = r"(?<![\w.])v?(\d+\.\d+[\w.+~-]*)"  # compiled when it is needed: most runs ask no program


def search_folders(host: Host) -> tuple[str, ...]:
    """The folders a program is looked for in: the caller's PATH on the live host, then the system's folders."""
    path = host.get_environment().get("PATH", "") if host.is_live else ""
    named = [folder.rstrip("/") for folder in path.split(":") if folder.startswith("/")]
    return tuple(dict.fromkeys([*named, *SYSTEM_FOLDERS]))


def find_program(host: Host, names: Iterable[str], folders: Sequence[str] = ()) -> str | None | Unknown:
    """The first of the names (or absolute paths) that can be executed, else the first that is there at all."""
    there: list[str] = []
    hidden: Unknown | None = None
    for path in _candidates(host, names, folders):
        try:
            mode = host.stat(path).st_mode
        except ABSENT:
            continue
        except OSError as error:
            hidden = hidden or unknown_from(error)
            continue
        if stat.S_ISREG(mode) and mode & 0o111:
            return path
        if stat.S_ISREG(mode):
            there.append(path)
    return there[0] if there else hidden


def _candidates(host: Host, names: Iterable[str], folders: Sequence[str]) -> list[str]:
    paths = []
    for name in names:
        if name.startswith("/"):
            paths.append(name)
        else:
            paths += [f"{folder}/{name}" for folder in (*search_folders(host), *folders)]
    return paths


def is_executable(host: Host, path: str) -> bool | Unknown:
    """Some execute bit is set on the file."""
    try:
        return bool(host.stat(path).st_mode & 0o111)
    except OSError as error:
        return unknown_from(error)


def collect_version(host: Host, path: str, arguments: Sequence[str] = ("--version",)) -> str | None | Unknown:
    """What the program says its version is; None when it says none. Only a program that we may trust is run."""
    try:
        distrust = why_not_trusted(host, path) if host.is_live else ""
    except OSError as error:
        return unknown_from(error)
    if distrust:
        return Unknown(f"not run: {distrust}")
    output = host.run((path, *arguments))
    if output.returncode is None:
        return Unknown(output.reason)
    version = parse_version(output.stdout) or parse_version(output.stderr)
    if version is None and output.returncode != 0:
        return Unknown(f"{os.path.basename(path)} {' '.join(arguments)} ended with {output.returncode}")
    return version


def parse_version(text: str) -> str | None:
    """The first version number in the text, without a leading v: "Docker version 26.1.5+dfsg1, build …"."""
    match = re.search(VERSION, text)
    return match.group(1).rstrip(".+~-") if match else None


def program_fault(host: Host, path: str) -> str:
    """What is wrong with the program at a path, or with a name that is looked up in PATH; "" if nothing.

    One that cannot be looked at is a fault here, because nothing can be said for it.
    """
    found = look_at_program(host, path)
    return f"{path} cannot be looked at ({found.reason})" if isinstance(found, Unknown) else found


def look_at_program(host: Host, path: str) -> str | Unknown:
    """The same, with a program that could not be looked at apart."""
    if "/" not in path:
        found = find_program(host, (path,))
        if found is None:
            return f"there is no program {path!r} in PATH or the system's folders"
        return found if isinstance(found, Unknown) else look_at_program(host, found)
    if not path.startswith("/"):
        return f"{path!r} is neither a name nor an absolute path"
    try:
        mode = host.stat(path).st_mode
    except FileNotFoundError:
        return f"{path} does not exist"
    except OSError as error:
        return unknown_from(error)
    if not stat.S_ISREG(mode):
        return f"{path} is not a file"
    return "" if mode & 0o111 else f"{path} is not executable"


def why_not_trusted(host: Host, path: str) -> str:
    """Why running the program would hand our rights to somebody else; empty when all is well.

    It matters for root above all: a rootless engine's binary belongs to its user, who can put anything there. The
    program, what links lead to it, and all folders above both are looked at.
    """
    links = _upwards(os.path.dirname(path)) if host.is_live else []  # below another root they are resolved inside it
    places = dict.fromkeys([*_upwards(host.real_path(path)), *links])
    for place in places:
        status = os.stat(place)
        if status.st_uid not in (0, os.geteuid()):
            return f"{place} belongs to user {status.st_uid}"
        # Groups below 1000 are the system's own: Debian gives /usr/local to staff.
        loose = status.st_mode & (0o022 if status.st_gid >= FIRST_USER else 0o002)
        if loose and not status.st_mode & stat.S_ISVTX:
            return f"{place} can be changed by others"
    return ""


def _upwards(path: str) -> list[str]:
    folders = [path]
    while folders[-1] != os.path.dirname(folders[-1]):
        folders.append(os.path.dirname(folders[-1]))
    return folders
