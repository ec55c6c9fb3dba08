"""Writes a file the user asked for by name, such as a snapshot; it touches no configuration and keeps no journal."""

import contextlib
import errno
import os
import stat

from ctk.errors import WriteFault


def write_output(path: str, content: bytes, mode: int | None = None, *, make_folders: bool = False) -> None:
    """The whole content or, on an error, what was there before. A pipe or device is written into.

    mode: the file's mode whatever the umask, None = a new file's usual one. make_folders: missing ones are made 0755,
    and stay when the file cannot be written. Raises WriteFault with the system's reason.
    """
    try:
        _refuse_foreign_link(path)
        if make_folders:
            _make_folders(os.path.dirname(os.path.realpath(path)))
        if _is_special(path):
            with open(path, "wb") as file:
                file.write(content)
        else:
            _replace(os.path.realpath(path), content, mode)
    except OSError as error:
        raise WriteFault(
            f"cannot write {path}: {(error.strerror or str(error)).lower()}",
            path=path,
            hint="Name a file in a folder you may write to. Nothing was changed.",
        ) from error


def _refuse_foreign_link(path: str) -> None:
    """proc_sys_fs(5), protected_symlinks: in /tmp nobody's link leads another user's file to where that user may write.

    The kernel's own guard is of no use here, since links are looked up before the file is opened.
    """
    if not os.path.islink(path):
        return
    folder, link = os.stat(os.path.dirname(path) or "."), os.lstat(path)
    is_open = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
    if is_open and link.st_uid not in (os.geteuid(), folder.st_uid):
        raise OSError(errno.EACCES, "it is another user's link in a folder that everybody may write to")


def _is_special(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode)


def _replace(path: str, content: bytes, mode: int | None) -> None:
    temporary = f"{path}.{os.urandom(4).hex()}.tmp"  # not by process id: in containers a killed run had the same one
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_folder(os.path.dirname(path))


def _make_folders(folder: str) -> None:
    """Every folder that is missing on the way, whatever the umask."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for path in reversed(missing):
        os.mkdir(path, 0o755)
        os.chmod(path, 0o755)  # noqa: S103 - engines of other users read what lies in it


def _sync_folder(folder: str) -> None:
    """The new name outlives a power failure. The file is in place: a system that cannot do this is no failure."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
