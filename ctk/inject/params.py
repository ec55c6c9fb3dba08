"""Keeps the driver's libraries in the container from making device nodes: a changed copy of the driver's parameters.

The copy lies in memory, is made read-only before it is put in place, and leaves no folder behind.
"""

from __future__ import annotations

import errno
import os

from ctk.inject import syscalls
from ctk.inject.faults import InjectFault, Skipped, cause_of, fault_of
from ctk.inject.options import Options
from ctk.inject.rootfs import NEW_FILE, Descriptor, Rootfs, filesystem_kind, read_all, read_regular

TYPE_CHECKING = False  # as in ctk.inject.options
if TYPE_CHECKING:
    from ctk.inject.options import Warn

FOLDER = "/proc/driver/nvidia"
FILE = f"{FOLDER}/params"
LIMIT_BYTES = 1 << 16
ALLOWED, FORBIDDEN = "ModifyDeviceFiles: 1", "ModifyDeviceFiles: 0"
FLAGS = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
COPY = "params"


def hide_device_modification(rootfs: Rootfs, _options: Options, warn: Warn) -> None:
    """Nothing to do where the host's driver says no already, or is not loaded."""
    text = read_host_params()
    lines = text.split("\n") if text is not None else []
    if ALLOWED not in lines:
        return
    changed = "\n".join(FORBIDDEN if line == ALLOWED else line for line in lines).encode("utf-8", "surrogateescape")
    try:
        if _is_changed(rootfs, changed):
            return
        _mount_copy(rootfs, changed)
    except (FileNotFoundError, NotADirectoryError):
        warn(f"the container has no {FILE}: there is nothing that tells its libraries to make device nodes")
    except OSError as error:
        if error.errno == errno.EPERM:
            raise Skipped(
                f"{FILE} stays as it is: this engine lets no hook mount anything ({cause_of(error)})"
            ) from error
        raise fault_of(f"mount a copy of {FILE}", error) from error


def read_host_params() -> str | None:
    """The host's file, None when there is none."""
    try:
        with Descriptor(os.open(FILE, os.O_RDONLY | os.O_CLOEXEC)) as descriptor:
            return read_all(descriptor, LIMIT_BYTES).decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise fault_of(f"read {FILE}", error) from error


def _is_changed(rootfs: Rootfs, changed: bytes) -> bool:
    """Whether the container has the copy already: the same hook may stand in two specs."""
    with rootfs.find(FILE) as descriptor:
        try:
            return read_regular(descriptor, FILE, LIMIT_BYTES) == changed
        except InjectFault:
            return False


def _mount_copy(rootfs: Rootfs, content: bytes) -> None:
    """The folder serves as the place for a file system in memory until the copy is mounted from it."""
    with rootfs.find_folder(FOLDER) as folder, rootfs.find(FILE) as target:
        for found, path in ((folder, FOLDER), (target, FILE)):
            if filesystem_kind(found) != "proc":  # without a /proc of its own the image's links decide where this is
                rootfs.refuse_foreign_place(found, path, f"hide {FILE}")
        syscalls.mount("tmpfs", _name(folder), "tmpfs", FLAGS, "size=64k,mode=0755")
        with rootfs.find_folder(FOLDER) as memory:
            try:
                if os.path.samestat(os.fstat(memory), os.fstat(folder)):
                    raise InjectFault(f"cannot mount a copy of {FILE}: {FOLDER} was exchanged meanwhile")
                with Descriptor(os.open(COPY, NEW_FILE, 0o444, dir_fd=memory)) as copy:
                    os.write(copy, content)
                syscalls.mount("", _name(memory), "", syscalls.MS_REMOUNT | syscalls.MS_RDONLY | FLAGS)
                with Descriptor(os.open(COPY, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=memory)) as source:
                    syscalls.mount(_name(source), _name(target), "", syscalls.MS_BIND)
            finally:
                syscalls.unmount(_name(memory), syscalls.MNT_DETACH)


def _name(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"
