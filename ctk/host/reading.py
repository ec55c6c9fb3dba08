"""Reading that never raises: a value, None for what is not there, Unknown with the reason for what may not be read."""

import errno

from ctk.facts import Unknown
from ctk.host import Host

ABSENT = (FileNotFoundError, NotADirectoryError)


def unknown_from(error: OSError) -> Unknown:
    """Why it could not be looked at, in the words of the system."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return Unknown("permission denied")
    return Unknown((error.strerror or str(error)).lower())


def try_read_text(host: Host, path: str) -> str | None | Unknown:
    """The text of a file, None when there is none."""
    try:
        return host.read_text(path)
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)


def try_exists(host: Host, path: str) -> bool | Unknown:
    """Whether something is there."""
    try:
        return host.exists(path)
    except OSError as error:
        return unknown_from(error)


def describe_failure(value: None | Unknown) -> str:
    """The reason as words: nothing there, or why it could not be read."""
    return "no such file" if value is None else value.reason
