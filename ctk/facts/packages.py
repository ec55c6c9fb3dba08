"""Installed packages that bring engines and NVIDIA's toolkit, and what became of the toolkit's files; no I/O."""

from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown

DPKG, RPM = "dpkg", "rpm"
MISSING, CHANGED = "missing", "changed"


class Package(NamedTuple):
    """One installed package. version as its manager has it, with the package's own release behind a dash."""

    name: str
    version: str


class PackageFile(NamedTuple):
    """A program or library of a package that is not as it was installed; state is MISSING or CHANGED."""

    package: str
    path: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """What one package manager says. faults: of the toolkit's packages only."""

    manager: str
    source: str  # the file or program that told
    packages: tuple[Package, ...] = ()
    faults: tuple[PackageFile, ...] | Unknown = ()

    def find(self, *names: str) -> Package | None:
        """The first of these that is installed."""
        return next((one for name in names for one in self.packages if one.name == name), None)
