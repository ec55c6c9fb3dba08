"""The only door to the machine for reading: files below a root, and programs of it; it changes nothing."""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ctk.facts.command import CommandOutput
from ctk.host.paths import glob_pattern, has_wildcard, resolve_below, split
from ctk.record import Record

if TYPE_CHECKING:
    from subprocess import Popen

READ_LIMIT_BYTES = 16 * 1024 * 1024
OUTPUT_LIMIT_BYTES = 8 * 1024 * 1024
KERNEL_RING = "/dev/kmsg"
RING_RECORD_BYTES = 8192
"""What one record of /dev/kmsg needs at most (CONSOLE_EXT_LOG_MAX in kernel/printk)."""
SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Where system programs lie; the sbin folders are missing in the PATH of cron jobs and of unprivileged users."""


class LocalHost:
    """The host whose file tree starts at root. root "/" is this machine; any other folder is looked at only.

    timeout_seconds: the deadline of a program that is run without one. environment: the caller's variables (XDG
    folders, DOCKER_CONTEXT); default: this process's.
    """

    def __init__(
        self, root: str = "/", timeout_seconds: float = 5.0, environment: Mapping[str, str] | None = None
    ) -> None:
        self.root = os.path.realpath(root)
        self.timeout_seconds = timeout_seconds
        self._environment = os.environ if environment is None else environment

    @property
    def is_live(self) -> bool:
        """The host is this machine: its programs may be run."""
        return self.root == "/"

    def get_environment(self) -> Mapping[str, str]:
        """The caller's variables; paths in them are paths of the host."""
        return self._environment

    def real_path(self, path: str) -> str:
        """The path on this machine, root in front, every symbolic link resolved inside the root, the last one too.

        A missing file keeps its name, so a writer can create it there. OSError: ELOOP, ENOTDIR, EACCES, ENOENT.
        """
        return resolve_below(self.root, self._absolute(path))

    def read_bytes(self, path: str, limit_bytes: int = READ_LIMIT_BYTES) -> bytes:
        """The whole content of a regular file. Anything else is refused unopened: a pipe would block, a device act."""
        place = self._place(path)
        self._check_regular(os.stat(place).st_mode, path)
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            self._check_regular(os.fstat(descriptor).st_mode, path)
            return self._read_all(descriptor, path, limit_bytes)
        finally:
            os.close(descriptor)

    def read_text(self, path: str, limit_bytes: int = READ_LIMIT_BYTES) -> str:
        """The content as UTF-8; bytes that are none come back as surrogates, so nothing is lost or raised."""
        return self.read_bytes(path, limit_bytes).decode("utf-8", "surrogateescape")

    def read_head(self, path: str, count: int = 4096) -> bytes:
        """The first bytes of one of the kernel's own files, in three system calls: there are thousands in /proc."""
        if not self.is_live:
            return self.read_bytes(path)[:count]
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.read(descriptor, count)
        finally:
            os.close(descriptor)

    def read_part(self, path: str, offset: int, count: int) -> bytes:
        """Some bytes of a regular file, fewer at its end: of a large file nobody needs the whole."""
        place = self._place(path)
        self._check_regular(os.stat(place).st_mode, path)
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            return os.pread(descriptor, count, offset)
        finally:
            os.close(descriptor)

    def read_kernel_ring(self) -> Iterator[bytes]:
        """The records of this machine's /dev/kmsg, oldest first, without waiting for new ones."""
        if not self.is_live:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), KERNEL_RING)
        descriptor = os.open(KERNEL_RING, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            yield from _ring_records(descriptor)
        finally:
            os.close(descriptor)

    def exists(self, path: str) -> bool:
        """Something is there behind all links. PermissionError when a folder on the way may not be searched."""
        return self._mode(path) is not None

    def is_file(self, path: str) -> bool:
        """A regular file is there."""
        mode = self._mode(path)
        return mode is not None and stat.S_ISREG(mode)

    def is_directory(self, path: str) -> bool:
        """A folder is there."""
        mode = self._mode(path)
        return mode is not None and stat.S_ISDIR(mode)

    def is_link(self, path: str) -> bool:
        """The path itself is a symbolic link, whatever it leads to."""
        try:
            return stat.S_ISLNK(os.lstat(self._place(path, follow_last=False)).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def stat(self, path: str) -> os.stat_result:
        """stat(2) of what is behind all links."""
        return os.stat(self._place(path))

    def lstat(self, path: str) -> os.stat_result:
        """lstat(2): of the path itself, a link too."""
        return os.lstat(self._place(path, follow_last=False))

    def may_use(self, path: str) -> bool | None:
        """The caller may read and write it, as access(2) says without opening it; None below another root.

        The kernel looks at mode, access list and the device rules of the caller's group, and not at a mount's nodev.
        """
        if not self.is_live:
            return None
        return os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids)

    def readlink(self, path: str) -> str:
        """The text of a symbolic link, as it is written on the host."""
        return os.readlink(self._place(path, follow_last=False))

    def list_directory(self, path: str) -> tuple[str, ...]:
        """The names in a folder, in byte order."""
        return tuple(sorted(os.listdir(self._place(path)), key=os.fsencode))

    def glob(self, pattern: str) -> tuple[str, ...]:
        """The paths of the host that match, in byte order, by Go's rules: a star matches a leading dot, never a "/".

        A folder that is not there matches nothing; one that may not be read is a PermissionError.
        """
        found = [""]
        names = split(self._absolute(pattern))
        for index, name in enumerate(names):
            found = [path for folder in found for path in self._glob_step(folder, name, index == len(names) - 1)]
        return tuple(sorted(found, key=os.fsencode))

    def run(self, argv: Sequence[str], timeout_seconds: float | None = None) -> CommandOutput:
        """Runs a program of this machine in order to read; never one below another root.

        The child has a process group of its own and is killed with it at the deadline (seconds). Nothing it does is
        raised: reason says why there is no returncode.
        """
        command = tuple(argv)
        if not self.is_live:
            return CommandOutput(command, None, "", "", "not run: --root")
        deadline = self.timeout_seconds if timeout_seconds is None else timeout_seconds
        return _run_child(command, deadline, child_environment(self._environment))

    def _absolute(self, path: str) -> str:
        if path.startswith("/"):
            return path
        return os.path.join(os.getcwd(), path) if self.is_live else "/" + path

    def _place(self, path: str, *, follow_last: bool = True) -> str:
        """Where to open; on the live root the kernel itself resolves, which saves one lstat for each folder."""
        absolute = self._absolute(path)
        return absolute if self.is_live else resolve_below(self.root, absolute, follow_last=follow_last)

    def _mode(self, path: str) -> int | None:
        try:
            return os.stat(self._place(path)).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _glob_step(self, folder: str, name: str, is_last: bool) -> list[str]:
        if not has_wildcard(name):
            path = f"{folder}/{name}"
            there = self.exists(path) or self.is_link(path) if is_last else self.is_directory(path)
            return [path] if there else []
        from fnmatch import fnmatchcase

        try:
            names = self.list_directory(folder or "/")
        except (FileNotFoundError, NotADirectoryError):
            return []
        wanted = glob_pattern(name)
        paths = [f"{folder}/{entry}" for entry in names if fnmatchcase(entry, wanted)]
        return paths if is_last else [path for path in paths if self.is_directory(path)]

    @staticmethod
    def _check_regular(mode: int, path: str) -> None:
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file", path)

    @staticmethod
    def _read_all(descriptor: int, path: str, limit_bytes: int) -> bytes:
        parts = []
        size = 0
        while part := os.read(descriptor, 65536):
            parts.append(part)
            size += len(part)
            if size > limit_bytes:
                raise OSError(errno.EFBIG, f"larger than {limit_bytes} bytes", path)
        return b"".join(parts)


def _ring_records(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            record = os.read(descriptor, RING_RECORD_BYTES)
        except BlockingIOError:  # no more
            return
        except BrokenPipeError:  # records were overwritten while we read; the next read goes on behind the gap
            continue
        if not record:
            return
        yield record


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The caller's variables with a fixed language and a PATH that also holds the system's folders."""
    folders = [folder for folder in environment.get("PATH", "").split(":") if folder]
    folders += [folder for folder in SYSTEM_FOLDERS if folder not in folders]
    kept = {name: value for name, value in environment.items() if name not in ("LANGUAGE", "LC_ALL")}
    return {**kept, "LC_ALL": "C.UTF-8", "PATH": ":".join(folders)}


def run_watched(
    argv: tuple[str, ...], timeout_seconds: float, environment: Mapping[str, str]
) -> tuple[CommandOutput, tuple["Sleeper", ...]]:
    """Runs a child of ours, whatever the root is, and looks at it before it is killed at the deadline (seconds).

    The second part is empty unless the deadline passed: then it holds every thread of the child and of what it started.
    What the child printed until then is kept.
    """
    seen: list[Sleeper] = []
    output = _run_child(argv, timeout_seconds, child_environment(environment), lambda pid: seen.extend(_look_at(pid)))
    return output, tuple(seen)


class Sleeper(Record):
    """One thread at the deadline. state: the letter of proc_pid_stat(5); wait_channel "" = not told."""

    name: str
    state: str
    wait_channel: str


def _look_at(session: int) -> list[Sleeper]:
    """The threads of all processes of a session: the library may have started a program that hangs in its place."""
    found = []
    for pid in os.listdir("/proc"):
        if pid.isdigit() and _stat_fields(f"/proc/{pid}")[3:4] == [str(session)]:
            found += [_sleeper(f"/proc/{pid}/task/{thread}") for thread in _list(f"/proc/{pid}/task")]
    return found


def _sleeper(folder: str) -> Sleeper:
    name = _proc_text(f"{folder}/comm").strip()
    state = _stat_fields(folder)[:1]
    return Sleeper(name, state[0] if state else "", _proc_text(f"{folder}/wchan").strip().removeprefix("0"))


def _stat_fields(folder: str) -> list[str]:
    """The fields of a stat file behind the name: state, parent, group, session …; empty when it has just ended."""
    return _proc_text(f"{folder}/stat").rpartition(")")[2].split()


def _list(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _proc_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4096)
    except OSError:
        return ""


def _run_child(
    argv: tuple[str, ...],
    timeout_seconds: float,
    environment: dict[str, str],
    at_deadline: Callable[[int], None] | None = None,
) -> CommandOutput:
    import subprocess
    import time

    try:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return CommandOutput(argv, None, "", "", describe_start_failure(error))
    end = time.monotonic() + timeout_seconds
    heard = (bytearray(), bytearray())
    try:
        overflow = _listen(child, heard, end)
        ended = not overflow and _has_ended(child.pid, end)
        if at_deadline is not None and not ended:
            at_deadline(child.pid)
    finally:
        _end(child)
    out, err = (bytes(text).decode("utf-8", "replace") for text in heard)
    if ended:
        return CommandOutput(argv, child.returncode, out, err)
    return CommandOutput(argv, None, out, err, overflow or f"no answer within {timeout_seconds:g} s")


def describe_start_failure(error: OSError | ValueError) -> str:
    """Why a program could not be started, as one phrase."""
    if isinstance(error, FileNotFoundError):
        return "no such program"
    if isinstance(error, PermissionError):
        return "permission denied"
    return getattr(error, "strerror", None) or str(error)


def _listen(child: "Popen[bytes]", heard: tuple[bytearray, bytearray], end: float) -> str:
    """Both streams until they close or the deadline passes; a reason when they grow beyond any honest answer."""
    import selectors
    import time

    with selectors.DefaultSelector() as selector:
        for stream, text in zip((child.stdout, child.stderr), heard, strict=True):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, text)
        while selector.get_map() and (left := end - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                part = os.read(key.fd, 65536)
                key.data.extend(part)
                if not part:
                    selector.unregister(key.fileobj)
                elif len(key.data) > OUTPUT_LIMIT_BYTES:
                    return f"printed more than {OUTPUT_LIMIT_BYTES} bytes"
    return ""


def _has_ended(pid: int, end: float) -> bool:
    """The child has ended. It stays a zombie meanwhile, so that its group's number cannot become someone else's."""
    import time

    while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if time.monotonic() >= end:
            return False
        time.sleep(0.001)
    return True


def _end(child: "Popen[bytes]") -> None:
    """Kills what is left of the child's group, reaps the child and closes the pipes."""
    import contextlib
    import signal
    import subprocess

    with contextlib.suppress(OSError):  # a child that became another user cannot be killed by us
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # a process in uninterruptible sleep ends when it can
        child.wait(timeout=1.0)
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()
