"""Lines of a Jetson's mount specifications, the CSV files that say what a container gets; it opens no file."""

from typing import NamedTuple

KINDS = ("dev", "dir", "lib", "sym")
BASE_FILES = ("devices.csv", "drivers.csv", "l4t.csv")
"""What is in force for every container; others only with NVIDIA_REQUIRE_JETPACK=csv-mounts=all.

Source: NVIDIA Container Toolkit, internal/platform-support/tegra/csv.
"""


class MountLine(NamedTuple):
    """One line: a kind of KINDS and a path or glob. fault: why the toolkit passes it over, "" = it is good."""

    number: int
    text: str
    kind: str = ""
    path: str = ""
    fault: str = ""


def parse_mount_spec(text: str) -> tuple[MountLine, ...]:
    """Every line that is not empty: "kind, path"."""
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return tuple(_parse_line(number, line) for number, line in lines if line)


def _parse_line(number: int, line: str) -> MountLine:
    kind, comma, path = (part.strip() for part in line.partition(","))
    if not comma:
        return MountLine(number, line, fault="there is no comma")
    if kind not in KINDS:
        return MountLine(number, line, fault=f"{kind!r} is none of {', '.join(KINDS)}")
    if not path.startswith("/"):
        return MountLine(number, line, fault="there is no absolute path")
    return MountLine(number, line, kind, path)
