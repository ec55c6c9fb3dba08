"""The data model: frozen records, no I/O; three states stay apart: a value, None (looked, not there), Unknown.

Records are frozen dataclasses, but for those that every run reads, which are of ctk.record: defining a dataclass takes
fifty times as long, and the run with nothing to do has a budget.
"""

from typing import Final, NoReturn


class Unknown:
    """Could not look; the reason is one phrase for people ("permission denied", "no answer within 5 s")."""

    __slots__ = ("reason",)
    reason: Final[str]  # type: ignore[misc] # set once, below, past the guard that keeps it frozen

    def __init__(self, reason: str) -> None:
        object.__setattr__(self, "reason", reason)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Unknown is frozen: {name} cannot be set")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self.reason == other.reason

    def __hash__(self) -> int:
        return hash((Unknown, self.reason))

    def __repr__(self) -> str:
        return f"Unknown({self.reason!r})"
