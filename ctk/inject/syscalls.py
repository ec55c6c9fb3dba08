"""The system calls that Python has no function for, bound when this module is loaded; it decides nothing."""

import ctypes
import os
import struct

OPENAT2, MOUNT_SETATTR = 437, 442  # the same on every architecture; Linux 5.6 and 5.12
RESOLVE_NO_MAGICLINKS, RESOLVE_IN_ROOT = 0x02, 0x10
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x1, 0x2, 0x4, 0x8
MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 0x20, 0x1000, 0x2000, 0x4000, 1 << 18
MNT_DETACH = 2
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 24, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITY_VERSION_3 = 0x20080522
CLOSE_RANGE_CLOEXEC = 4
AT_EMPTY_PATH, AT_RECURSIVE, MOUNT_ATTR_RDONLY = 0x1000, 0x8000, 1
"""linux/mount.h, linux/sched.h, linux/prctl.h, linux/capability.h, linux/close_range.h."""
STATFS_BYTES = 256  # more than any architecture's struct statfs; f_type is its first word

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mount.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)
_LIBC.umount2.argtypes = (ctypes.c_char_p, ctypes.c_int)
_LIBC.unshare.argtypes = (ctypes.c_int,)
_LIBC.pivot_root.argtypes = (ctypes.c_char_p, ctypes.c_char_p)
_LIBC.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
_LIBC.capset.argtypes = (ctypes.c_char_p, ctypes.c_char_p)
_LIBC.fstatfs.argtypes = (ctypes.c_int, ctypes.c_char_p)
_LIBC.syscall.restype = ctypes.c_long


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def openat2(folder: int, path: str, flags: int, resolve: int) -> int:
    """openat2(2): opens below a folder, with the kernel keeping to the resolve rules."""
    how = struct.pack("QQQ", flags, 0, resolve)
    word = ctypes.c_long
    return _check(_LIBC.syscall(word(OPENAT2), word(folder), os.fsencode(path), how, word(len(how))))


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2)."""
    _check(_LIBC.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()))


def set_read_only(mount_root: int, read_only: bool, *, recursive: bool = False) -> None:
    """mount_setattr(2): of one mount, or of all below too. EINVAL: the descriptor is not where a mount begins."""
    values = (MOUNT_ATTR_RDONLY, 0) if read_only else (0, MOUNT_ATTR_RDONLY)
    attributes = struct.pack("QQQQ", *values, 0, 0)
    flags = AT_EMPTY_PATH | AT_RECURSIVE if recursive else AT_EMPTY_PATH
    word = ctypes.c_long
    arguments = (word(mount_root), b"", word(flags), attributes, word(len(attributes)))
    _check(_LIBC.syscall(word(MOUNT_SETATTR), *arguments))


def unmount(target: str, flags: int) -> None:
    """umount2(2)."""
    _check(_LIBC.umount2(target.encode(), flags))


def unshare(flags: int) -> None:
    """unshare(2)."""
    _check(_LIBC.unshare(flags))


def pivot_root(new: str, old: str) -> None:
    """pivot_root(2)."""
    _check(_LIBC.pivot_root(new.encode(), old.encode()))


def prctl(option: int, value: int = 0, rest: int = 0) -> None:
    """prctl(2)."""
    _check(_LIBC.prctl(option, value, rest, 0, 0))


def capset(effective: int, permitted: int, inheritable: int) -> None:
    """capset(2), each a bit mask."""
    masks = (effective, permitted, inheritable)
    low, high = (mask & 0xFFFFFFFF for mask in masks), (mask >> 32 for mask in masks)
    _check(_LIBC.capset(struct.pack("Ii", CAPABILITY_VERSION_3, 0), struct.pack("6I", *low, *high)))


def filesystem_type(descriptor: int) -> int:
    """The magic number of the file system that a descriptor is on: statfs(2)."""
    buffer = ctypes.create_string_buffer(STATFS_BYTES)
    _check(_LIBC.fstatfs(descriptor, buffer))
    return int(struct.unpack_from("l", buffer)[0])


def close_on_exec(first: int) -> bool:
    """Mark this descriptor and all above as closed when another program takes over; False: the kernel is too old."""
    close_range = getattr(_LIBC, "close_range", None)
    return close_range is not None and close_range(first, ctypes.c_uint(0xFFFFFFFF), CLOSE_RANGE_CLOEXEC) == 0
