"""Resolves a path inside a root the way the kernel does after chroot(2); it opens no file."""

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctk.host import Host

LINK_LIMIT = 40
"""As many links as Linux follows in one path (path_resolution(7)) before it answers ELOOP."""


def resolve_below(root: str, path: str, *, follow_last: bool = True) -> str:
    """The path on this machine of `path` on the host below root: every link resolved inside, ".." stops at the root.

    What does not exist yet is kept as it is written, so that a file can be created there. Raises OSError as the
    kernel would: ELOOP, ENOTDIR, EACCES, and ENOENT for a ".." behind a folder that is not there.
    """
    prefix = "" if root == "/" else root
    pending = split(path)[::-1]
    done: list[str] = []
    links = 0
    missing = False
    while pending:
        name = pending.pop()
        if name == "..":
            if missing:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            del done[-1:]
            continue
        done.append(name)
        if missing:
            continue
        kind = _kind(prefix + "/" + "/".join(done))
        missing = kind == 0
        if stat.S_ISLNK(kind) and (pending or follow_last):
            links += 1
            if links > LINK_LIMIT:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = os.readlink(prefix + "/" + "/".join(done))
            done = [] if target.startswith("/") else done[:-1]
            pending += split(target)[::-1]
        elif pending and kind and not stat.S_ISDIR(kind):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return prefix + "/" + "/".join(done)


def split(path: str) -> list[str]:
    """The names of a path; "." and empty names say nothing."""
    if "\0" in path:
        raise OSError(errno.EINVAL, "a path cannot hold a NUL byte", path)
    return [name for name in path.split("/") if name not in ("", ".")]


def _kind(path: str) -> int:
    """The file type bits of what is at path itself, links not followed; 0 = nothing is there."""
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except FileNotFoundError:
        return 0


def glob_pattern(name: str) -> str:
    """One name of a Go pattern (filepath.Match) in the words of Python's fnmatch: [^a] is [!a], \\* a plain star."""
    out = ""
    index = 0
    while index < len(name):
        if name[index] == "\\" and index + 1 < len(name):
            index += 1
            out += f"[{name[index]}]"
        elif name.startswith("[^", index):
            index += 1
            out += "[!"
        else:
            out += name[index]
        index += 1
    return out


def has_wildcard(name: str) -> bool:
    """The name is a pattern and not a plain name."""
    return any(character in name for character in "*?[\\")


def display_path(host: "Host", path: str) -> str:
    """A host path as the user of this machine would open it: with --root in front."""
    return path if host.is_live else host.root.rstrip("/") + path
