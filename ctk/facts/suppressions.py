"""What the owner of a host told the doctor not to count; no I/O."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """One row of /etc/ctk/doctor.toml. id and subject may be globs; subject None: whatever it is.

    expires: the last day it holds, as YYYY-MM-DD (UTC); None: for ever.
    """

    id: str
    subject: str | None
    reason: str
    expires: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppressions:
    """The file's rows, and what is wrong with the others: one sentence each. path: as the host names it."""

    path: str
    rows: tuple[Suppression, ...]
    faults: tuple[str, ...]
