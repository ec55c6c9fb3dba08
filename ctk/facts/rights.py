"""Who may change the files that hooks and runtimes of root trust; no I/O."""

from typing import NamedTuple

from ctk.facts import Unknown


class Place(NamedTuple):
    """One folder or file on the way to a trusted file. uid and gid 0: those that the root folder belongs to."""

    path: str
    mode: int  # the permission bits, with set-user-ID, set-group-ID and sticky
    uid: int
    gid: int
    used_for: str  # the file whose way it is on
    is_directory: bool = False


class Rights(NamedTuple):
    """All that was looked at; hidden: the first place that could not be."""

    places: tuple[Place, ...] = ()
    hidden: Unknown | None = None
