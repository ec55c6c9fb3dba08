"""Writes a file the user asked for by name, such as a snapshot; it touches no configuration and keeps no journal."""

import os
import stat

from ctk.errors import WriteFault


def write_output(path: str, content: bytes, mode: int | None = None) -> None:
    """The whole content or, on an error, what was there before. A pipe or device is written into.

    mode: the file's mode whatever the umask, None = a new file's usual one. Raises WriteFault with the system's reason.
    """
    try:
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


def _is_special(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode)


def _replace(path: str, content: bytes, mode: int | None) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
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
