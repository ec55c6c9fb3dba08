"""What can go wrong while a container starts, and which of it must not keep the container from starting."""

import errno
import os

PERMISSION = (errno.EPERM, errno.EACCES)
WHOLE_IDENTITY_MAP = ["0", "0", "4294967295"]
"""user_namespaces(7): the map of the first user namespace."""


class InjectFault(Exception):
    """A hook cannot do its work; the text says what and why."""


class Skipped(InjectFault):
    """A hook's work is impossible here, and the container is to start without it: the text becomes a warning."""


def cause_of(error: OSError) -> str:
    """In the system's words."""
    return os.strerror(error.errno) if error.errno is not None else str(error)


def fault_of(what: str, error: OSError) -> InjectFault:
    """An error of the system as a fault; a read-only root, and a user namespace that forbids it, stop no container."""
    text = f"cannot {what}: {cause_of(error)}"
    if error.errno == errno.EROFS or (error.errno in PERMISSION and is_in_user_namespace()):
        return Skipped(text)
    return InjectFault(text)


def is_in_user_namespace() -> bool:
    """Whether this process's root is somebody else outside; False where the kernel has no user namespaces."""
    try:
        descriptor = os.open("/proc/self/uid_map", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.read(descriptor, 4096).decode("ascii", "replace").split() != WHOLE_IDENTITY_MAP
    finally:
        os.close(descriptor)


def printable(text: str, limit: int = 500) -> str:
    """Text that may come from an image, for one line of a log: no control characters, and not without end."""
    clean = "".join(character if character.isprintable() else "?" for character in text)
    return clean if len(clean) <= limit else clean[:limit] + "…"
