"""The data model: frozen records, no I/O; three states stay apart: a value, None (looked, not there), Unknown."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unknown:
    """Could not look; the reason is one phrase for people ("permission denied", "no answer within 5 s")."""

    reason: str
