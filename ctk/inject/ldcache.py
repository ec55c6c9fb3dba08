"""Brings the container's library cache up to date: the host's ldconfig, shut into the container's root.

The program comes from the host, sealed in memory, so that nothing of the image is run and the image cannot reach it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import sys
import time

from ctk.inject import syscalls
from ctk.inject.confine import FAILED, FAILURE_MARK, run_confined
from ctk.inject.faults import InjectFault, Skipped, cause_of, fault_of, is_in_user_namespace, printable
from ctk.inject.loader_files import write_loader_files
from ctk.inject.options import Options
from ctk.inject.rootfs import Descriptor, Rootfs

TYPE_CHECKING = False  # as in ctk.inject.options
if TYPE_CHECKING:
    from ctk.inject.options import Warn

ARGUMENTS = ("ldconfig", "-f", "/etc/ld.so.conf", "-C", "/etc/ld.so.cache")
TEMPORARY_FILES = ("/etc/ld.so.cache~", "/var/cache/ldconfig/aux-cache~")
"""ldconfig writes into what is there: a FIFO of the image would make it wait, a file of an ended run is litter."""
WRITTEN_FOLDERS = ("/etc", "/var/cache/ldconfig")
DEADLINE_SECONDS = 30.0
OUTPUT_LIMIT_BYTES = 64 << 10
PROGRAM_LIMIT_BYTES = 64 << 20
MFD_EXEC = 0x10  # Linux 6.3; without it vm.memfd_noexec warns or forbids
MEMORY_FLAGS = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
ELF_64, PROGRAM_INTERPRETER = 2, 3  # ELFCLASS64 and PT_INTERP


def update_ldcache(rootfs: Rootfs, options: Options, _warn: Warn) -> None:
    """Configure the loader and run ldconfig. Raises Skipped where a container cannot have it, InjectFault else."""
    _check_writable(rootfs)
    extra = write_loader_files(rootfs, options.folders)
    for name in TEMPORARY_FILES:
        rootfs.remove(name)
    with open_program(options.ldconfig_path) as program:
        run_ldconfig(rootfs, program, [*ARGUMENTS, *extra], [*WRITTEN_FOLDERS, *options.folders])


def _check_writable(rootfs: Rootfs) -> None:
    """Where nothing has to be written but the cache, ldconfig alone would find out."""
    try:
        with rootfs.make_folder("/etc") as folder:
            is_read_only = os.statvfs(f"/proc/self/fd/{folder}").f_flag & os.ST_RDONLY
    except OSError as error:
        raise fault_of("update the library cache in /etc", error) from error
    if is_read_only:
        raise Skipped("the library cache is not updated: /etc is read-only")


def open_program(path: str) -> Descriptor:
    """The host's ldconfig, in sealed memory where the kernel allows it."""
    try:
        source = os.open(_real_program(path), os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InjectFault(
            f"cannot run the host's ldconfig {path}: {cause_of(error)}. Give its place with --ldconfig-path."
        ) from error
    try:
        _check_program(source, path)
        sealed = _seal_copy(source)
    except OSError as error:
        os.close(source)
        raise InjectFault(f"cannot copy the host's ldconfig {path}: {cause_of(error)}") from error
    except InjectFault:
        os.close(source)
        raise
    if sealed is None:
        return Descriptor(source)
    os.close(source)
    return Descriptor(sealed)


def _real_program(path: str) -> str:
    """Debian's and Ubuntu's ldconfig may be a wrapper script, with the program beside it."""
    return f"{path}.real" if os.path.exists(f"{path}.real") else path


def _check_program(program: int, path: str) -> None:
    """A script or a program with a loader would run what the image has under the interpreter's name."""
    head = os.pread(program, 64, 0)
    if head[:4] != b"\x7fELF" or len(head) < 64:
        raise InjectFault(f"cannot run the host's ldconfig {path}: it is no program but a script or a damaged file")
    table = _number(head[32:40] if head[4] == ELF_64 else head[28:32])
    size, count = (_number(head[at : at + 2]) for at in ((54, 56) if head[4] == ELF_64 else (42, 44)))
    if any(_number(os.pread(program, 4, table + index * size)) == PROGRAM_INTERPRETER for index in range(count)):
        raise InjectFault(f"cannot run the host's ldconfig {path}: it is not statically linked")


def _number(data: bytes) -> int:
    """A program that this machine can run has its byte order."""
    return int.from_bytes(data, sys.byteorder)


def _seal_copy(source: int) -> int | None:
    """None: this kernel has no such memory, or forbids to run it."""
    for flags in (MEMORY_FLAGS | MFD_EXEC, MEMORY_FLAGS):
        try:
            copy = os.memfd_create("ldconfig", flags)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.EACCES):
                raise
            continue
        rest = os.fstat(source).st_size
        if rest > PROGRAM_LIMIT_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        while rest > 0 and (sent := os.sendfile(copy, source, None, rest)):
            rest -= sent
        fcntl.fcntl(copy, fcntl.F_ADD_SEALS, SEALS)
        return copy
    return None


def run_ldconfig(
    rootfs: Rootfs, program: int, argv: list[str], written: list[str], seconds: float = DEADLINE_SECONDS
) -> None:
    """In a child that is shut into the root. Raises Skipped where the kernel does not let us shut it in."""
    status = os.fstat(rootfs.descriptor)
    readable, writable = os.pipe()
    _enter_process_namespace()
    child = os.fork()
    if child == 0:
        run_confined(rootfs.path, (status.st_dev, status.st_ino), program, argv, written, writable)
    os.close(writable)
    output = _collect(readable, child, seconds)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if output is None:
        raise InjectFault(f"cannot update the library cache: ldconfig did not end within {seconds:g} s")
    if code == FAILED and FAILURE_MARK in output:
        raise _failure_before(output.rpartition(FAILURE_MARK)[2].decode("ascii", "replace"))
    if code:
        raise _failure_of(code, output.decode("utf-8", "replace"))


def _enter_process_namespace() -> None:
    """For the child alone: it sees no process but itself. Not in every place allowed, and no must."""
    try:
        syscalls.unshare(syscalls.CLONE_NEWPID)
    except OSError:
        return


def _collect(readable: int, child: int, seconds: float) -> bytes | None:
    """What the child writes until it ends; None when it does not end in time, and is killed."""
    parts: list[bytes] = []
    size = 0
    deadline = time.monotonic() + seconds
    poll = select.poll()
    poll.register(readable, select.POLLIN)
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                os.kill(child, 9)
                return None
            if not poll.poll(left * 1000):
                continue
            part = os.read(readable, 1 << 16)
            if not part:
                return b"".join(parts)
            if size < OUTPUT_LIMIT_BYTES:
                parts.append(part)
                size += len(part)
    finally:
        os.close(readable)


def _failure_before(text: str) -> InjectFault:
    """The root could not be entered, or ldconfig not be started."""
    step, _, number = text.partition(" ")
    code = int(number) if number.isdecimal() else 0
    cause = os.strerror(code) if code else "a bug in ctk"
    if code == errno.EPERM and step in ("namespaces", "root", "covers"):
        return Skipped(
            f"the library cache is not updated: this engine lets no hook enter the container's root ({cause})"
        )
    return InjectFault(f"cannot run ldconfig in the container: {cause} ({step})")


def _failure_of(code: int, output: str) -> InjectFault:
    how = f"ldconfig exited {code}" if code > 0 else f"ldconfig was ended by signal {-code}"
    last = [line for line in output.splitlines() if line.strip()][-3:]
    text = f"cannot update the library cache: {how}: {printable('; '.join(last)) or 'it said nothing'}"
    denied = any(word in output for word in ("Permission denied", "Operation not permitted"))
    is_skipped = "Read-only file system" in output or (denied and is_in_user_namespace())
    return Skipped(text) if is_skipped else InjectFault(text)
