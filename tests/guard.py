"""What an unmarked test may not do: start a process, open a socket, write outside its folder; it knows no test.

Built on audit events, which fire below every library, so that no import style or wrapper gets around it. A violation
is a BaseException and is also remembered: code that swallows it still fails its test.
"""

import os
import sys
import threading
from collections.abc import Callable

PROCESS_EVENTS = frozenset(
    {
        "subprocess.Popen",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
    }
)
SOCKET_EVENTS = frozenset(
    {
        "socket.__new__",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "socket.sendto",
    }
)
# Event -> for each path argument, its index and the index of the folder descriptor it is relative to (None = no such).
PATH_EVENTS: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.link": ((1, 3),),
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.removexattr": ((0, None),),
    "os.rename": ((0, 2), (1, 3)),
    "os.rmdir": ((0, 1),),
    "os.setxattr": ((0, None),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.utime": ((0, 3),),
}
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
HARMLESS_DEVICES = frozenset({"/dev/null", "/dev/zero", "/dev/full", "/dev/tty"})
CACHE_FOLDERS = frozenset({"__pycache__", ".pytest_cache", ".hypothesis"})


class ForbiddenInTests(BaseException):
    """The suite must not do this; derived from BaseException so that no `except Exception` swallows it."""


class Guard:
    """One for each process. Active only while an unmarked test runs; roots are the folders that may be written."""

    def __init__(self) -> None:
        self.active = False
        self.roots: tuple[str, ...] = ()
        self.violations: list[str] = []
        self._folder = threading.local()
        self._installed = False

    def install(self) -> None:
        """Hook into the interpreter, once; an audit hook cannot be taken out again."""
        if self._installed:
            return
        self._installed = True
        self._remember_folder_descriptors()
        sys.addaudithook(self._on_event)

    def _remember_folder_descriptors(self) -> None:
        """Note the dir_fd of os.open: the audit event "open" does not carry it."""
        real_open = os.open

        def open_noting_folder(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            self._folder.descriptor = dir_fd
            try:
                return real_open(path, flags, mode, dir_fd=dir_fd)
            finally:
                self._folder.descriptor = None

        replacement: Callable[..., int] = open_noting_folder
        os.open = replacement
        os.supports_dir_fd.add(replacement)

    def _on_event(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.active:
            return
        if event == "open":
            self._on_open(arguments)
        elif event in PATH_EVENTS:
            for path_index, folder_index in PATH_EVENTS[event]:
                folder = arguments[folder_index] if folder_index is not None else None
                self._require_inside(event, arguments[path_index], folder)
        elif event in PROCESS_EVENTS:
            self._refuse(f"a test started a process ({event} {arguments[0] if arguments else ''!r}); mark it `real`")
        elif event in SOCKET_EVENTS:
            self._refuse(f"a test opened a socket ({event}); mark it `real`")

    def _on_open(self, arguments: tuple[object, ...]) -> None:
        path, _mode, flags = arguments
        if not isinstance(flags, int) or not flags & WRITE_FLAGS:
            return
        if flags & os.O_TMPFILE == os.O_TMPFILE:  # has no name and leaves nothing behind
            return
        self._require_inside("open", path, getattr(self._folder, "descriptor", None))

    def _require_inside(self, event: str, path: object, folder: object) -> None:
        if isinstance(path, int):  # a descriptor: judged when it was opened
            return
        if not isinstance(path, str | bytes | os.PathLike):
            return
        full = _full_path(os.fsdecode(path), folder)
        if full in HARMLESS_DEVICES or CACHE_FOLDERS.intersection(full.split("/")):
            return
        if not any(full == root or full.startswith(root + "/") for root in self.roots):
            self._refuse(f"a test wrote outside tmp_path ({event} {full})")

    def _refuse(self, message: str) -> None:
        self.violations.append(message)
        raise ForbiddenInTests(message)


def _full_path(path: str, folder: object) -> str:
    """Where the path lies, with the links of its folder resolved; the last part stays, it may be a link to replace."""
    if not path.startswith("/"):
        base = os.getcwd()
        if isinstance(folder, int) and folder >= 0:
            base = os.readlink(f"/proc/self/fd/{folder}")
        path = os.path.join(base, path)
    head, tail = os.path.split(path)
    return os.path.join(os.path.realpath(head), tail) if tail not in ("", ".", "..") else os.path.realpath(path)


GUARD = Guard()
