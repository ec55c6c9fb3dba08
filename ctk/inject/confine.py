"""Shuts a process into a container's root and lets the host's ldconfig take it over; it returns to nobody.

It runs in a child of its own. From the moment the root is entered, Python loads nothing any more, because what it would
load is the image's: everything used here is loaded before.
"""

from __future__ import annotations

import errno
import os
import resource
import sys

from ctk.inject import syscalls

TYPE_CHECKING = False  # typing itself, and collections.abc, take longer to load than these modules
if TYPE_CHECKING:
    from collections.abc import Callable

NAMESPACES = syscalls.CLONE_NEWNS | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWNET
COVERED = ("proc", "sys", "dev")
COVER_FLAGS = syscalls.MS_RDONLY | syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
DAC_OVERRIDE = 1 << 1
"""The one capability that stays: an image's /etc may be without write permission for anybody."""
LAST_CAPABILITY = 63
SIGNAL_KILL = 9
GIBIBYTE = 1 << 30
LIMITS = (
    (resource.RLIMIT_CORE, 0),
    (resource.RLIMIT_CPU, 20),
    (resource.RLIMIT_NOFILE, 64),
    (resource.RLIMIT_FSIZE, 32 << 20),
    (resource.RLIMIT_AS, 64 * GIBIBYTE),  # ldconfig maps each library whole, and CUDA's have gigabytes
)
FAILED = 70
FAILURE_MARK = b"\0"
"""What ldconfig itself never writes: its output and the failures before it go through one pipe."""


class Step:
    """Which step is under way, for the message."""

    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name = "start"


def run_confined(
    root: str, identity: tuple[int, int], program: int, argv: list[str], written: list[str], output: int
) -> None:
    """In the child: enter the root, give up rights, become the program. Ends the process in every case.

    written: the folders that the program writes to.
    """
    step = Step()
    code = 0
    try:
        _isolate_interpreter()
        _use_output(output)
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, SIGNAL_KILL)
        step.name = "namespaces"
        _leave_namespaces()
        step.name = "root"
        _bind_root(root, identity)
        step.name = "volumes"
        _protect_volumes(written)
        step.name = "root"
        _enter_root()
        step.name = "covers"
        _cover_kernel_folders()
        step.name = "rights"
        _give_up_rights()
        step.name = "program"
        os.execve(program, argv, {})  # noqa: S606 - a shell would be the image's
    except OSError as error:
        code = error.errno or 0
    except BaseException:  # a traceback would load modules, and those would be the image's
        code = 0
    os.write(2, FAILURE_MARK + f"{step.name} {code}".encode())
    os._exit(FAILED)


def _isolate_interpreter() -> None:
    sys.path.clear()
    sys.meta_path.clear()
    sys.path_hooks.clear()


def _use_output(output: int) -> None:
    """Nothing to read, the pipe to write to, and no descriptor of the engine or of ours behind the program."""
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    if not syscalls.close_on_exec(3):
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2:
                _close_on_exec(int(name))


def _close_on_exec(descriptor: int) -> None:
    try:
        os.set_inheritable(descriptor, False)
    except OSError as error:
        if error.errno != errno.EBADF:  # the folder's own
            raise


def _leave_namespaces() -> None:
    """Mounts of its own are a must; the others keep a broken program away from what the container shares."""
    try:
        syscalls.unshare(NAMESPACES)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EINVAL, errno.ENOSPC):
            raise
        syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)


def _bind_root(root: str, identity: tuple[int, int]) -> None:
    """Make the container's root a mount of our own, with all that is mounted below, and the working folder."""
    folder = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)  # descriptors of the old namespace are of no use
    status = os.fstat(folder)
    if (status.st_dev, status.st_ino) != identity:
        raise OSError(errno.ESTALE, "")
    os.fchdir(folder)
    syscalls.mount(".", ".", "", syscalls.MS_BIND | syscalls.MS_REC)
    os.chdir(root)  # the new mount lies on top of the one that the descriptor stands for


def _protect_volumes(written: list[str]) -> None:
    """What is mounted in the container may be the host's, and an image tells ldconfig where to put links.

    So every mount becomes read-only, for ldconfig alone, but for the root itself and for mounts that one of the folders
    lies in by its name; a link of the image in place of a folder changes nothing. Kernels before 5.12 cannot do this.
    """
    kept = [folder for folder in _walk(written) if not os.fstatvfs(folder).f_flag & os.ST_RDONLY]
    top = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        syscalls.set_read_only(top, True, recursive=True)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM, errno.EINVAL):
            raise
        return
    for folder in kept:
        try:
            syscalls.set_read_only(folder, False)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EPERM):
                raise


def _walk(paths: list[str]) -> list[int]:
    """The root, and each folder on the way to the paths, up to a link or what is not there."""
    opened = [os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]
    for path in paths:
        folder = opened[0]
        for name in path.split("/"):
            if not name:
                continue
            try:
                folder = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            except OSError:
                break
            opened.append(folder)
    return opened


def _enter_root() -> None:
    """Make the container's root the root; what was the root before is out of reach afterwards."""
    try:
        syscalls.pivot_root(".", ".")
        syscalls.unmount(".", syscalls.MNT_DETACH)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        syscalls.mount(
            ".", "/", "", syscalls.MS_MOVE
        )  # the host runs from its initial RAM disk, which cannot be pivoted
        os.chroot(".")
    os.chdir("/")


def _cover_kernel_folders() -> None:
    """An empty folder over /proc, /sys and /dev, where they are folders: no link is to decide what is covered."""
    for name in COVERED:
        try:
            folder = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        os.fchdir(folder)
        try:
            syscalls.mount("tmpfs", ".", "tmpfs", COVER_FLAGS, "size=4k,mode=0555")
        except OSError as error:
            if error.errno != errno.EPERM:
                raise
        os.chdir("/")


def _give_up_rights() -> None:
    for number, most in LIMITS:
        hard = resource.getrlimit(number)[1]
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (value, value))
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    _try(lambda: os.setgroups([]))
    _try(lambda: syscalls.prctl(syscalls.PR_CAP_AMBIENT, syscalls.PR_CAP_AMBIENT_CLEAR_ALL))
    _drop_bounding_set()
    _try(lambda: syscalls.capset(DAC_OVERRIDE, DAC_OVERRIDE, 0))
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, SIGNAL_KILL)  # the kernel forgets it when rights change


def _drop_bounding_set() -> None:
    """So that the program gets no other capability back for being root's."""
    for number in range(LAST_CAPABILITY + 1):
        if 1 << number == DAC_OVERRIDE:
            continue
        try:
            syscalls.prctl(syscalls.PR_CAPBSET_DROP, number)
        except OSError:  # EINVAL behind the kernel's last one; EPERM where there were no rights to give up
            return


def _try(call: Callable[[], object]) -> None:
    """What only makes it tighter may be forbidden already."""
    try:
        call()
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EINVAL):
            raise
