"""One run at a time for each engine configuration, with the holder's name for those who wait; edits nothing."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator, Sequence

from ctk.change.faults import journal_fault
from ctk.change.state import LOCKS_FOLDER, file_name_of
from ctk.errors import BusyFault, WriteFault

POLL_SECONDS = 0.05
_NOT_WRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR})


@contextlib.contextmanager
def lock(
    state_directory: str,
    key: str,
    wait_seconds: float = 10.0,
    *,
    command: Sequence[str] = (),
    fallback_folder: str | None = None,
) -> Iterator[None]:
    """Hold the lock of this key; flock(2), so it ends with the process whatever ends it.

    fallback_folder: an existing folder that is locked instead where the state folder cannot be written (for runs that
    keep no journal). Raises BusyFault naming the holder after wait_seconds, WriteFault if there is nothing to lock.
    """
    path = os.path.join(state_directory, LOCKS_FOLDER, file_name_of(key) + ".lock")
    descriptor, is_file = _open(path, fallback_folder)
    try:
        _wait(descriptor, path if is_file else None, key, wait_seconds)
        if is_file:
            _write_holder(descriptor, command)
        try:
            yield
        finally:
            if is_file:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _open(path: str, fallback_folder: str | None) -> tuple[int, bool]:
    try:
        _make_folders(os.path.dirname(path))
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if fallback_folder is None or error.errno not in _NOT_WRITABLE:
            raise journal_fault(error, os.path.dirname(os.path.dirname(path))) from error
    else:
        return descriptor, True
    try:
        return os.open(fallback_folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), False
    except OSError as error:
        raise journal_fault(error, fallback_folder) from error


def _make_folders(locks: str) -> None:
    if os.path.isdir(locks):
        return
    state = os.path.dirname(locks)
    os.makedirs(os.path.dirname(state), exist_ok=True)
    for folder in (state, locks):
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
            os.chmod(folder, 0o700)


def _wait(descriptor: int, path: str | None, key: str, wait_seconds: float) -> None:
    import fcntl

    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise _busy(path, key, wait_seconds) from error
        except OSError as error:  # a network file system without locks
            raise WriteFault(
                f"cannot lock {key}: {error.strerror}",
                hint="Name a state folder on a local file system with CTK_STATE_DIR. Nothing was changed.",
                path=path,
            ) from error
        else:
            return
        time.sleep(POLL_SECONDS)


def _write_holder(descriptor: int, command: Sequence[str]) -> None:
    """For people only; on a full disk the lock holds all the same."""
    import shlex

    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    text = f"{os.getpid()}\n{since}\n{shlex.join(command)}\n"
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode("utf-8", "backslashreplace"), 0)


def _busy(path: str | None, key: str, waited: float) -> BusyFault:
    return BusyFault(
        f"cannot change {key}: {_holder(path)} holds its lock (waited {waited:g} s)",
        hint="Wait for it to end and run the command again. Nothing was changed.",
        path=path,
    )


def _holder(path: str | None) -> str:
    """The holder as it wrote itself down."""
    try:
        with open(path or os.devnull, encoding="utf-8", errors="replace") as file:
            pid, since, command = file.read(4096).split("\n")[:3]
    except (OSError, ValueError):
        return "another run"
    return f"process {pid} ({command or 'ctk'}, since {since})"
