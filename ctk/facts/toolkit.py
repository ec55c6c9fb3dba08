"""NVIDIA's toolkit binaries and ctk's own, as found on a host; no I/O."""

from dataclasses import dataclass

from ctk.facts import Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBinary:
    """One program: path None = looked in every known folder, not there. machine None = it is no ELF file."""

    name: str
    path: str | None | Unknown
    version: str | None | Unknown
    executable: bool | Unknown = True
    machine: str | None | Unknown = None  # as `uname -m` names it
