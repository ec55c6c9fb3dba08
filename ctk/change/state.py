"""Where ctk keeps its journal and locks, and whether a run was cut short; cheap, for every run; writes nothing."""

import os
from collections.abc import Callable, Mapping
from functools import partial

JOURNAL_FOLDER = "journal"
LOCKS_FOLDER = "locks"
PENDING_SUFFIX = ".pending"


def state_directory(
    root: str, environment: Mapping[str, str], uid: int, resolve: Callable[[str], str] | None = None
) -> str:
    """The state folder: CTK_STATE_DIR as it is; else /var/lib/ctk, or a user's XDG state folder, both below root.

    resolve: turns a path of the host below root into a path here with its symbolic links followed inside root (an
    image may have /var as an absolute link); without it root is put in front.
    https://specifications.freedesktop.org/basedir-spec/: a relative XDG path is to be ignored.
    """
    own = environment.get("CTK_STATE_DIR")
    if own:
        return os.path.abspath(own)
    place = resolve or partial(_below, root)
    if uid == 0:
        return place("/var/lib/ctk")
    state_home = environment.get("XDG_STATE_HOME", "")
    if not state_home.startswith("/"):
        state_home = os.path.join(environment.get("HOME") or _home_of(uid), ".local/state")
    return place(os.path.join(state_home, "ctk"))


def has_unfinished(state: str) -> bool:
    """Whether some run never came to its end: one listing, no file is opened. False where nobody may look."""
    try:
        names = os.listdir(os.path.join(state, JOURNAL_FOLDER))
    except OSError:
        return False
    return any(name.endswith(PENDING_SUFFIX) for name in names)


def file_name_of(key: str) -> str:
    """A key as a file name: other characters than letters, digits, dot, dash and underscore become underscores."""
    name = "".join(
        character if character.isascii() and (character.isalnum() or character in ".-_") else "_" for character in key
    )
    return name[:100].lstrip(".") or "_"


def _below(root: str, path: str) -> str:
    return os.path.join(root, path.lstrip("/")) if root not in ("", "/") else path


def _home_of(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return "/"
