"""The lines of a Jetson's mount specification (devices.csv, drivers.csv, l4t.csv); it looks at no host."""

from fnmatch import fnmatchcase
from typing import NamedTuple

KINDS = ("dev", "dir", "lib", "sym")
DEFAULT_FILES = ("devices.csv", "drivers.csv", "l4t.csv")
DEFAULT_FOLDER = "/etc/nvidia-container-runtime/host-files-for-container.d"


class SpecLine(NamedTuple):
    """What one line asks for; path may be a pattern."""

    kind: str
    path: str


def parse_lines(text: str) -> tuple[tuple[SpecLine, ...], tuple[tuple[int, str], ...]]:
    """The lines "type, path", and the numbers and texts of those that are none. Blank lines are neither."""
    found = []
    bad = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        kind, comma, path = (part.strip() for part in words.partition(","))
        if comma and kind in KINDS and path.startswith("/"):
            found.append(SpecLine(kind, path))
        else:
            bad.append((number, words))
    return tuple(found), tuple(bad)


def is_ignored(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether a pattern of --csv.ignore-pattern takes the path out; `**/x` is about the name alone."""
    name = path.rpartition("/")[2]
    return any(
        fnmatchcase(name, pattern[3:]) if pattern.startswith("**/") else fnmatchcase(path, pattern)
        for pattern in patterns
    )
