"""A container's root as a folder held open: everything below it is found, read and written through descriptors.

No path string below the root is ever given to a call that would resolve it from the host's root.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat

from ctk.inject.faults import InjectFault, Skipped, fault_of
from ctk.inject.resolve import PATH_ONLY, choose_resolver
from ctk.inject.syscalls import filesystem_type

TYPE_CHECKING = False  # as in ctk.inject.options
if TYPE_CHECKING:
    from ctk.inject.resolve import Resolver

KERNEL_FILE_SYSTEMS = {
    0x9FA0: "proc",
    0x62656572: "sysfs",
    0x27E0EB: "cgroup",
    0x63677270: "cgroup2",
    0x64626720: "debugfs",
    0x74726163: "tracefs",
    0x73636673: "securityfs",
    0xF97CFF8C: "selinuxfs",
    0x62656570: "configfs",
    0xCAFE4A11: "bpf",
    0xDE5E81E4: "efivarfs",
    0x6165676C: "pstore",
    0x19800202: "mqueue",
}
"""linux/magic.h: what is done there is done to the host's kernel, whoever's root it is seen from."""
MAGIC_MASK = 0xFFFFFFFF
READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Descriptor:
    """An open file, closed at the end of its `with`."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __enter__(self) -> int:
        return self.number

    def __exit__(self, *_: object) -> None:
        os.close(self.number)


class Rootfs:
    """One container's root. path is the engine's, and trusted; what lies below is the image's, and is not."""

    __slots__ = ("_mount", "_resolve", "descriptor", "path")

    def __init__(self, path: str, descriptor: int, resolve: Resolver) -> None:
        self.path = path
        self.descriptor = descriptor
        self._resolve = resolve
        self._mount = mount_number(descriptor)

    def __enter__(self) -> Rootfs:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    def find(self, path: str, *, follow: bool = True) -> Descriptor:
        """Where a path leads, as an O_PATH descriptor; FileNotFoundError and its kin as open(2) has them."""
        return Descriptor(self._resolve(self.descriptor, path, follow))

    def find_folder(self, path: str) -> Descriptor:
        """The same for a folder."""
        found = self.find(path)
        if stat.S_ISDIR(os.fstat(found.number).st_mode):
            return found
        os.close(found.number)
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))

    def has(self, path: str) -> bool:
        """Whether a path leads anywhere."""
        try:
            with self.find(path):
                return True
        except OSError:
            return False

    def location(self, descriptor: int) -> str:
        """Where an open file lies, as the container names it."""
        top, place = (os.readlink(f"/proc/self/fd/{number}") for number in (self.descriptor, descriptor))
        top = top.rstrip("/")
        if place == top or place.startswith(top + "/"):
            return place[len(top) :] or "/"
        raise InjectFault(f"cannot tell where {printable_path(place)} lies in the container")

    def make_folder(self, path: str, mode: int = 0o755) -> Descriptor:
        """A folder, made with its parents where it is not there. A link that leads nowhere is an error."""
        try:
            return self.find_folder(path)
        except FileNotFoundError:
            parent, name = split_path(path)
        with self.make_folder(parent, mode) as folder:
            self.refuse_foreign_place(folder, parent, f"make {path}")
            _make_if_missing(folder, name, mode)
            return Descriptor(os.open(name, PATH_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder))

    def read(self, path: str, limit: int) -> bytes | None:
        """A regular file's content, None when there is none of that name; a FIFO or a device is not opened."""
        try:
            with self.find(path) as descriptor:
                refuse_kernel_file_system(descriptor, f"read {path}")
                return read_regular(descriptor, path, limit)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise fault_of(f"read {path}", error) from error

    def list_folder(self, path: str) -> list[str]:
        """The names in a folder, none when it is not there."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        try:
            with self.find_folder(path) as descriptor, reopen(descriptor, flags) as readable:
                return sorted(os.listdir(readable))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise fault_of(f"look into {path}", error) from error

    def write(self, path: str, content: bytes, mode: int = 0o644) -> bool:
        """Put a file in place, atomically; False: it was the same already. What a link there led to stays as it is."""
        parent, name = split_path(path)
        try:
            with self.make_folder(parent) as folder:
                if has_content(folder, name, content, mode):
                    return False
                self.refuse_foreign_place(folder, parent, f"write {path}")
                _replace(folder, name, content, mode)
        except OSError as error:
            raise fault_of(f"write {path}", error) from error
        return True

    def refuse_foreign_place(self, descriptor: int, path: str, what: str) -> None:
        """Nothing is changed in the kernel's own file systems, nor in a volume that only a link of the image leads to.

        A volume may be the host's, and the container's user another one than root; so it counts only if it is mounted
        on the path itself.
        """
        refuse_kernel_file_system(descriptor, what)
        mount = mount_number(descriptor)
        if mount != self._mount and mount not in self._mounts_on(path):
            raise Skipped(f"cannot {what}: a link in the image leads into a volume, {self.location(descriptor)}")

    def _mounts_on(self, path: str) -> list[int]:
        """The mounts that a path goes through by its name, up to the first link."""
        folder, mounts, opened = self.descriptor, [], []
        try:
            for name in posixpath.normpath("/" + path.lstrip("/")).split("/")[1:]:
                folder = os.open(name or ".", PATH_ONLY | os.O_NOFOLLOW, dir_fd=folder)
                opened.append(folder)
                mounts.append(mount_number(folder))
        except OSError:  # a link, or gone by now: what lies behind it counts for nothing
            return mounts
        finally:
            for descriptor in opened:
                os.close(descriptor)
        return mounts

    def remove(self, path: str) -> None:
        """Take a file or link away; one that is not there is fine."""
        parent, name = split_path(path)
        try:
            with self.find_folder(parent) as folder:
                if entry_status(folder, name) is not None:
                    self.refuse_foreign_place(folder, parent, f"remove {path}")
                    os.unlink(name, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise fault_of(f"remove {path}", error) from error


def open_rootfs(path: str, resolve: Resolver | None = None) -> Rootfs:
    """Hold a container's root open. resolve: instead of the best that the kernel has."""
    try:
        descriptor = os.open(path, PATH_ONLY | os.O_DIRECTORY)
    except OSError as error:
        raise fault_of(f"open the container's root {path}", error) from error
    if os.path.samestat(os.fstat(descriptor), os.stat("/")):
        raise InjectFault(f"cannot work on {path}: it is the host's own root")
    return Rootfs(path, descriptor, resolve or choose_resolver(descriptor))


def split_path(path: str) -> tuple[str, str]:
    """(folder, name) with `.` and `..` taken out as text, so that a name is never one of them."""
    folder, name = posixpath.split(posixpath.normpath("/" + path.lstrip("/")))
    if not name:
        raise InjectFault("cannot work on /: it is the container's root")
    return folder, name


def _make_if_missing(folder: int, name: str, mode: int) -> None:
    """Another container on the same root may start now; a link that leads nowhere is told by who opens the folder."""
    try:
        os.mkdir(name, mode, dir_fd=folder)
    except FileExistsError:
        return


def entry_status(folder: int, name: str) -> os.stat_result | None:
    """What lstat(2) says of an entry; None when there is none."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def mount_number(descriptor: int) -> int:
    """Which mount a file is seen through: proc(5), fdinfo."""
    with Descriptor(os.open(f"/proc/self/fdinfo/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)) as information:
        for line in os.read(information, 4096).splitlines():
            if line.startswith(b"mnt_id:"):
                return int(line[7:])
    raise InjectFault("cannot tell mounts apart: /proc/self/fdinfo has no mnt_id")


def reopen(descriptor: int, flags: int) -> Descriptor:
    """The very file that an O_PATH descriptor stands for, for reading; /proc is the host's here."""
    return Descriptor(os.open(f"/proc/self/fd/{descriptor}", flags))


def read_regular(descriptor: int, path: str, limit: int) -> bytes:
    """The content behind an O_PATH descriptor."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise InjectFault(f"cannot read {path}: it is no regular file")
    if found.st_size > limit:
        raise InjectFault(f"cannot read {path}: {found.st_size} bytes, and {limit} are the most that make sense")
    with reopen(descriptor, READ_FLAGS) as readable:
        return read_all(readable, limit)


def read_all(descriptor: int, limit: int) -> bytes:
    """Up to limit bytes, to the end of the file or pipe."""
    parts = []
    while limit > 0 and (part := os.read(descriptor, min(limit, 1 << 20))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def has_content(folder: int, name: str, content: bytes, mode: int) -> bool:
    """Whether a regular file of that name, mode and content is there."""
    try:
        found = Descriptor(os.open(name, PATH_ONLY | os.O_NOFOLLOW, dir_fd=folder))
    except FileNotFoundError:
        return False
    with found as descriptor:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or stat.S_IMODE(status.st_mode) != mode or status.st_size != len(content):
            return False
        return read_regular(descriptor, name, len(content)) == content


def _replace(folder: int, name: str, content: bytes, mode: int) -> None:
    temporary = temporary_name()
    descriptor = os.open(temporary, NEW_FILE, 0o600, dir_fd=folder)
    try:
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(temporary, dir_fd=folder)
        raise


def temporary_name() -> str:
    """A name that nothing in the image can have foreseen."""
    return f".ctk-{os.urandom(8).hex()}"


def refuse_kernel_file_system(descriptor: int, what: str) -> None:
    """An image's link may lead into the container's /proc or /sys, where a new folder, or a read, does something."""
    kind = filesystem_kind(descriptor)
    if kind is not None:
        raise InjectFault(f"cannot {what}: it leads into a file system of the kernel ({kind})")


def filesystem_kind(descriptor: int) -> str | None:
    """Which of the kernel's own file systems a file is on, None for another one."""
    return KERNEL_FILE_SYSTEMS.get(filesystem_type(descriptor) & MAGIC_MASK)


def printable_path(path: str) -> str:
    """For a message."""
    return path.encode("utf-8", "backslashreplace").decode()
