"""Version numbers of engines and of NVIDIA's toolkit, as programs and packages write them; it judges none."""

import re
from typing import NamedTuple

_VERSION = re.compile(
    r"(?:\d+:)?v?(?P<numbers>\d+(?:\.\d+)+)(?:[-.~]?(?P<pre>rc|beta|alpha)[-.~]?(?P<count>\d+)?)?(?P<suffix>.*)"
)
PRE_RANKS = {"alpha": 0, "beta": 1, "rc": 2}
OWN_SUFFIX = re.compile(r"(?:-1|[-+]k3s\d+(?:[-.]\w+)*|[-+]rke2\w*)?")
"""What says nothing of fixes: a package's first release, and the builds of k3s and RKE2."""


class Release(NamedTuple):
    """A version that can be compared. rank: before, at, or after the release itself; suffix: what stands behind it."""

    numbers: tuple[int, ...]
    rank: tuple[int, int] = (9, 0)
    suffix: str = ""

    @property
    def key(self) -> tuple[tuple[int, ...], tuple[int, int]]:
        """What two of them are compared by; 1.2 is 1.2.0."""
        padded = (*self.numbers, 0, 0, 0)[: max(4, len(self.numbers))]
        return padded, self.rank

    @property
    def branch(self) -> tuple[int, ...]:
        """The first two numbers."""
        return self.numbers[:2]

    @property
    def text(self) -> str:
        """The numbers as people write them."""
        return ".".join(map(str, self.numbers))


def parse_release(version: str) -> Release | None:
    """The version in front; an epoch ("5:") and a "v" are passed over. None: there is none."""
    found = _VERSION.match(version.strip())
    if found is None:
        return None
    rank = (PRE_RANKS[found["pre"]], int(found["count"] or 0)) if found["pre"] else (9, 0)
    return Release(tuple(int(part) for part in found["numbers"].split(".")), rank, found["suffix"])


def is_below(version: Release, fixed: tuple[str, ...]) -> bool:
    """Whether it lacks what was fixed in these releases, each the first of its branch that has it.

    A branch older than all of them has never got it; a newer one began with it.
    """
    floors = [release for release in map(parse_release, fixed) if release is not None]
    own = next((floor for floor in floors if floor.branch == version.branch), None)
    if own is not None:
        return version.key < own.key
    below = [floor for floor in floors if floor.key < version.key]
    return len(below) < len(floors)


def is_rebuilt(version: Release) -> bool:
    """Perhaps a distribution's own build, which may carry fixes of later releases: "1.1.5+ds1-1+deb12u1"."""
    return OWN_SUFFIX.fullmatch(version.suffix) is None
