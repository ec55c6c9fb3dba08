"""Finds a path below a container's root as the container would see it, and never leaves that root; it opens no content.

A resolver takes the root's descriptor, a path, and whether a link at the path's end is followed, and returns an O_PATH
descriptor. The image and, through volumes, other processes decide what the path's parts are, also while it is looked
up, so nothing here or above it uses a path twice.
"""

from __future__ import annotations

import errno
import os
import stat

from ctk.inject.syscalls import RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS, openat2

TYPE_CHECKING = False  # as in ctk.inject.options
if TYPE_CHECKING:
    from collections.abc import Callable

    Resolver = Callable[[int, str, bool], int]

LINK_LIMIT = 40
"""As the kernel's MAXSYMLINKS."""
RACE_RETRIES = 64
"""openat2(2): EAGAIN where a rename made it unsafe to go on."""
PATH_ONLY = os.O_PATH | os.O_CLOEXEC


def choose_resolver(root: int) -> Resolver:
    """The kernel's own, where it has one (Linux 5.6) and no seccomp profile hides it."""
    try:
        os.close(openat2(root, ".", PATH_ONLY, RESOLVE_IN_ROOT))
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG):
            return open_by_walking
        raise
    return open_in_root


def open_in_root(root: int, path: str, follow: bool) -> int:
    """By openat2(2): links, `..` and absolute links end at the root, and /proc's links to other roots are refused."""
    flags = PATH_ONLY if follow else PATH_ONLY | os.O_NOFOLLOW
    for _ in range(RACE_RETRIES):
        try:
            return openat2(root, path.lstrip("/") or ".", flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EINTR):
                raise
    return open_by_walking(root, path, follow)


def open_by_walking(root: int, path: str, follow: bool) -> int:
    """The same, one part of the path after the other.

    `..` goes back to the folder that was opened before, so that a folder moved elsewhere meanwhile leads nowhere. A
    link of /proc to another root is followed by its text, below this root.
    """
    folders = [os.dup(root)]
    pending = path.split("/")[::-1]
    links = 0
    try:
        while pending:
            name = pending.pop()
            if name in ("", "."):
                continue
            if name == "..":
                _drop(folders, keep=1)
                continue
            found = os.open(name, PATH_ONLY | os.O_NOFOLLOW, dir_fd=folders[-1])
            folders.append(found)
            mode = os.fstat(found).st_mode
            if stat.S_ISLNK(mode) and (follow or pending):
                links += 1
                if links > LINK_LIMIT:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                target = os.readlink("", dir_fd=found)
                _drop(folders, keep=1)
                if target.startswith("/"):
                    while _drop(folders, keep=1):
                        continue
                pending += target.split("/")[::-1]
            elif pending and not stat.S_ISDIR(mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return folders.pop()
    finally:
        while _drop(folders, keep=0):
            continue


def _drop(folders: list[int], keep: int) -> bool:
    """Close the last one, unless only as many are left as are to be kept."""
    if len(folders) <= keep:
        return False
    os.close(folders.pop())
    return True
