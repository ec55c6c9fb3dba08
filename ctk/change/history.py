"""Tells what earlier runs did, from the journal, as rows for a table or JSON; changes nothing and prints nothing."""

from typing import NamedTuple

from ctk.change.journal import Journal


class HistoryRow(NamedTuple):
    """One run. state is finished, pending, undone or abandoned. time is RFC 3339, UTC; files are (action, path)."""

    time: str
    id: str
    operation: str
    key: str
    command: tuple[str, ...]
    files: tuple[tuple[str, str], ...]
    state: str


class History(NamedTuple):
    """The runs, newest first, and the folders in the journal that cannot be read, as (name, reason)."""

    rows: tuple[HistoryRow, ...]
    damaged: tuple[tuple[str, str], ...]


def read_history(journal: Journal) -> History:
    """All that the journal holds. Raises CtkError if it may not be read; an empty one is no error."""
    rows = (
        HistoryRow(
            entry.time,
            entry.id,
            entry.operation,
            entry.key,
            entry.command,
            tuple((record.action, record.path) for record in entry.files),
            entry.state,
        )
        for entry in reversed(journal.entries())
    )
    return History(tuple(rows), tuple((item.name, item.reason) for item in journal.damaged()))
