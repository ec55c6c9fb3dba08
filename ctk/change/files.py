"""Replaces one file whole, keeps its mode, owner and attributes, and puts it back; decides and journals nothing."""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable

from ctk.change.plan import FileChange
from ctk.errors import BusyFault
from ctk.record import Record

TEMPORARY_PREFIX = ".ctk-"
TEMPORARY_SUFFIX = ".tmp"

SAME, RESTORED, LEFT = "same", "restored", "left"

# rename(2) onto a file that is a mount point (a bind mount into a container) says EBUSY; a sticky folder EPERM.
_NOT_REPLACEABLE = frozenset({errno.EBUSY, errno.EXDEV, errno.EPERM})
# The kernel makes these from the content or keeps them itself; a copy would be wrong.
_NOT_COPIED = frozenset({"security.ima", "security.evm"})
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.EACCES, errno.ENOTSUP, errno.ENOENT, errno.EROFS})


class FileState(Record):
    """What identifies a file's content and what must stay when it is replaced; xattrs are (name, value in hex)."""

    sha256: str
    size: int
    mode: int
    uid: int
    gid: int
    mtime_ns: int = 0
    xattrs: tuple[tuple[str, str], ...] = ()


class FolderState(Record):
    """A folder that may be removed, as it must be made again on the way back."""

    path: str
    mode: int
    uid: int
    gid: int


class Step(Record):
    """One file of a run: its bytes before and after, how it was found, and the one temporary name used for it."""

    path: str
    target: str
    before: bytes | None
    after: bytes | None
    old: FileState | None
    mode: int
    owner: tuple[int, int] | None
    temporary: str


def sha256_of(data: bytes) -> str:
    """The SHA-256 of data in hex."""
    import hashlib

    return hashlib.sha256(data).hexdigest()


def read_file(path: str) -> bytes | None:
    """The bytes of a regular file, None if it is not there. Raises OSError; never waits on a pipe, follows no link."""
    found = look_at(path, with_attributes=False)
    return found[0] if found else None


def look_at(path: str, *, with_attributes: bool = True) -> tuple[bytes, FileState] | None:
    """A regular file's bytes and state, both through one descriptor. Raises OSError (EISDIR, ENODEV for a pipe)."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        found = os.fstat(descriptor)
        _require_regular(found.st_mode, path)
        data = _read_all(descriptor, found.st_size)
        if not with_attributes:
            return data, FileState("", len(data), stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid)
        xattrs = tuple((name, value.hex()) for name, value in _attributes(descriptor).items())
    finally:
        os.close(descriptor)
    mode = stat.S_IMODE(found.st_mode)
    return data, FileState(sha256_of(data), len(data), mode, found.st_uid, found.st_gid, found.st_mtime_ns, xattrs)


def _require_regular(mode: int, path: str) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), path)


def _read_all(descriptor: int, size: int) -> bytes:
    parts = []
    while part := os.read(descriptor, max(size + 1, 65536)):
        parts.append(part)
    return b"".join(parts)


def observe(change: FileChange, temporary: str) -> Step:
    """The change with the file's state of now. Raises BusyFault if the file is not as the plan saw it, OSError."""
    try:
        found = look_at(change.target)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise moved(change.path, "it has become a symbolic link") from error
        raise
    data, state = found or (None, None)
    if data != change.before:
        raise moved(change.path)
    return Step(change.path, change.target, data, change.after, state, change.mode, change.owner, temporary)


def moved(path: str, how: str = "") -> BusyFault:
    """The file is not what the plan was made from; the caller may plan anew (code "changed")."""
    return BusyFault(
        f"cannot change {path}: it changed while ctk was working" + (f" ({how})" if how else ""),
        hint="Run the command again. Nothing was changed.",
        code="changed",
        path=path,
    )


def require_unmoved(step: Step) -> None:
    """Look once more right before the file is replaced. Raises BusyFault, OSError."""
    found = look_at(step.target, with_attributes=False)
    if (found[0] if found else None) != step.before:
        raise moved(step.path)
    if found and step.old and _owner_and_mode(found[1]) != _owner_and_mode(step.old):
        raise moved(step.path, "its mode or owner")


def _owner_and_mode(state: FileState) -> tuple[int, int, int]:
    return state.mode, state.uid, state.gid


def stage(step: Step, data: bytes, state: FileState | None) -> bool:
    """Write data beside the target under the temporary name, complete and synced.

    state is the file whose mode, owner and attributes are to stay; None for a new file. False = they cannot be kept
    on another file (no right to give it its owner, say): only writing in place keeps them. Raises OSError.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(step.temporary, flags, 0o600)
    try:
        try:
            _write_all(descriptor, data)
            kept = _dress_new(descriptor, step) if state is None else _dress_like(descriptor, state)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):  # what went wrong first is what people must know
            remove_if_there(step.temporary)
        raise
    if not kept:
        remove_if_there(step.temporary)
    return kept


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _dress_new(descriptor: int, step: Step) -> bool:
    if step.owner is not None and step.owner != (os.fstat(descriptor).st_uid, os.fstat(descriptor).st_gid):
        os.fchown(descriptor, *step.owner)
    os.fchmod(descriptor, step.mode)
    return True


def _dress_like(descriptor: int, state: FileState) -> bool:
    """Owner first, because a change of owner clears mode bits; then attributes (an ACL sets mode bits); mode last."""
    now = os.fstat(descriptor)
    try:
        if (now.st_uid, now.st_gid) != (state.uid, state.gid):
            os.fchown(descriptor, state.uid, state.gid)
        _copy_attributes(descriptor, {name: bytes.fromhex(value) for name, value in state.xattrs})
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EINVAL):
            return False
        raise
    os.fchmod(descriptor, state.mode)
    return True


def _copy_attributes(descriptor: int, wanted: dict[str, bytes]) -> None:
    """Give the new file exactly these; what the kernel has set alike already (an SELinux label) is left alone."""
    present = _attributes(descriptor)
    for name, value in wanted.items():
        if present.get(name) != value:
            os.setxattr(descriptor, name, value)
    for name in present.keys() - wanted.keys():
        if not name.startswith("security."):
            os.removexattr(descriptor, name)


def _attributes(descriptor: int) -> dict[str, bytes]:
    try:
        names = os.listxattr(descriptor)
    except OSError:  # a file system without them
        return {}
    return {name: os.getxattr(descriptor, name) for name in names if name not in _NOT_COPIED}


def replace(step: Step, staged: bool, before_in_place: Callable[[], None]) -> None:
    """Make the step's change. before_in_place is called if only writing over the file is possible. Raises OSError."""
    if step.after is None:
        os.unlink(step.target)
    elif not (staged and _rename_over(step)):
        before_in_place()
        write_in_place(step.target, step.after)
    sync_folder(os.path.dirname(step.target))


def _rename_over(step: Step) -> bool:
    try:
        os.replace(step.temporary, step.target)
    except OSError as error:
        remove_if_there(step.temporary)
        if error.errno in _NOT_REPLACEABLE and step.before is not None:
            return False
        raise
    return True


def write_in_place(target: str, data: bytes) -> None:
    """Write over an existing file, longest-lived bytes last: never an empty file on the way. Raises OSError."""
    descriptor = os.open(target, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _write_all(descriptor, data)
        os.ftruncate(descriptor, len(data))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_back(step: Step, *, torn: bool = False) -> str:
    """Restore what was there before the step. Returns what was found to do: SAME, RESTORED, or LEFT for others' work.

    torn: the file was being written in place, a mix of old and new bytes is ours too. Raises OSError.
    """
    remove_if_there(step.temporary)
    now = read_file(step.target)
    if now == step.before:
        return SAME
    if now != step.after and not (torn and is_torn(now, step.before, step.after)):
        return LEFT
    if step.before is None or step.old is None:
        os.unlink(step.target)
    else:
        _write_old(step, step.before, step.old)
    sync_folder(os.path.dirname(step.target))
    return RESTORED


def _write_old(step: Step, before: bytes, old: FileState) -> None:
    """By rename where that goes; in place where not, also on a full disk, because the file's own blocks are there."""
    try:
        staged = stage(step, before, old) and _rename_over(step)
    except OSError:
        if step.after is None:
            raise
        staged = False
    if not staged:
        write_in_place(step.target, before)
    if old.mtime_ns:
        os.utime(step.target, ns=(old.mtime_ns, old.mtime_ns))


def is_torn(now: bytes | None, before: bytes | None, after: bytes | None) -> bool:
    """Whether every byte is the old one, the new one, or a zero that a crash left: an interrupted write in place."""
    if now is None or before is None or after is None:
        return False
    if not min(len(before), len(after)) <= len(now) <= max(len(before), len(after)):
        return False
    return all(
        byte == 0 or byte in before[index : index + 1] or byte in after[index : index + 1]
        for index, byte in enumerate(now)
    )


def missing_folders(target: str) -> tuple[str, ...]:
    """The folders that must be made for this file, outermost first."""
    missing = []
    folder = os.path.dirname(target)
    while folder not in ("", "/") and not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return tuple(reversed(missing))


def make_folder(path: str, mode: int = 0o755, owner: tuple[int, int] | None = None) -> bool:
    """Make a folder with exactly this mode whatever the umask; False if it is there already. Raises OSError."""
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        return False
    inherited = os.stat(path).st_mode & stat.S_ISGID
    os.chmod(path, mode | inherited)
    if owner is not None and owner != (os.geteuid(), os.getegid()):
        os.chown(path, *owner)
    sync_folder(os.path.dirname(path))
    return True


def folder_state(path: str) -> FolderState | None:
    """The folder as it is, None if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return None
    return FolderState(path, stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid)


def remove_empty_folders(paths: Iterable[str]) -> tuple[str, ...]:
    """Remove those that are empty; the rest stays, because what is in it is not ours. Returns the removed ones."""
    removed = []
    for path in paths:
        try:
            os.rmdir(path)
        except OSError:
            continue
        removed.append(path)
        sync_folder(os.path.dirname(path))
    return tuple(removed)


def remove_if_there(path: str) -> None:
    """Remove a file of our own making. Not being there is as good, whatever the system says (EROFS, ENOTDIR)."""
    try:
        os.unlink(path)
    except OSError:
        if os.path.lexists(path):
            raise


def sync_folder(path: str) -> None:
    """Make a rename or removal last; some file systems and rights do not allow it, which is no failure."""
    try:
        descriptor = os.open(path or "/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)
