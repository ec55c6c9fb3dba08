"""Puts an operating system's refusal into a sentence that says why, what to do now, and that nothing changed."""

import errno
import os
from typing import NamedTuple

from ctk.errors import ReadFault, WriteFault

NOTHING_CHANGED = "Nothing was changed."


class _Words(NamedTuple):
    cause: str
    advice: str


_WORDS = {
    errno.EROFS: _Words(
        "the file system is read-only", "Make it writable, or write elsewhere (a drop-in folder, --config)."
    ),
    errno.ENOSPC: _Words("no space left on the device", "Free some space and run the command again."),
    errno.EDQUOT: _Words("the disk quota is used up", "Free some space and run the command again."),
    errno.EACCES: _Words("permission denied", "Run the command as root, or as the owner of the file and its folder."),
    errno.EPERM: _Words("operation not permitted", "Run the command as root."),
    errno.ENOENT: _Words("its folder does not exist", "Make the folder, or name another path."),
    errno.ENOTDIR: _Words("a part of the path is not a folder", "Correct the path, or move that file away."),
    errno.EISDIR: _Words("it is a folder", "Name a file, or move the folder away."),
    errno.EFBIG: _Words(
        "it is larger than a file may be here", "Raise the limit (ulimit -f) and run the command again."
    ),
    errno.ENAMETOOLONG: _Words("the name is too long", "Name a shorter path."),
    errno.ELOOP: _Words("it is a symbolic link where none may be", "Replace the link by the file it stands for."),
    errno.EBUSY: _Words("it is a mount point", "Change the file outside of the container that it is mounted into."),
    errno.EIO: _Words("the device reports an input/output error", "Check the kernel log and the disk."),
    errno.ENODEV: _Words("it is neither a file nor a folder", "Name a regular file."),
}
_IMMUTABLE = _Words("the file or its folder is immutable", "Allow changes with `chattr -i`, and run the command again.")


def write_fault(
    error: OSError, path: str, *, target: str = "", verb: str = "write", ending: str = NOTHING_CHANGED
) -> WriteFault:
    """The error as a sentence about path; target is the real file where path is a link to it."""
    words = _words(error, target or path)
    via = f" ({target})" if target and target != path else ""
    return WriteFault(f"cannot {verb} {path}{via}: {words.cause}", hint=f"{words.advice} {ending}".strip(), path=path)


def read_fault(error: OSError, path: str) -> ReadFault:
    """The error as a sentence about a file that must be read before it is written."""
    words = _words(error, path)
    return ReadFault(f"cannot read {path}: {words.cause}", hint=f"{words.advice} {NOTHING_CHANGED}", path=path)


def journal_fault(error: OSError, folder: str) -> WriteFault:
    """The journal or the lock cannot be written: no way back, so no change, unless the user says so."""
    words = _words(error, folder)
    return WriteFault(
        f"cannot write the journal in {folder}: {words.cause}",
        hint=f"{words.advice} CTK_STATE_DIR names another folder; --no-journal works without one. {NOTHING_CHANGED}",
        path=folder,
    )


def cause_of(error: OSError) -> str:
    """The cause alone, for use inside another sentence."""
    return _words(error, "").cause


def _words(error: OSError, path: str) -> _Words:
    if error.errno == errno.EPERM and path and (is_immutable(path) or is_immutable(os.path.dirname(path))):
        return _IMMUTABLE
    known = _WORDS.get(error.errno or 0)
    return known or _Words(error.strerror or str(error), "")


def is_immutable(path: str) -> bool:
    """Whether chattr +i or +a is on it (FS_IOC_GETFLAGS, ioctl_iflags(2)); False where that cannot be asked."""
    import fcntl
    import struct

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        flags = struct.unpack("l", fcntl.ioctl(descriptor, 0x80086601, struct.pack("l", 0)))[0]
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return bool(flags & 0x30)
