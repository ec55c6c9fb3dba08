"""Undoes a run that was cut short, from its journal entry; leaves alone whatever somebody else has changed since."""

from collections.abc import Sequence

from ctk.change.entry import ABANDONED, UNDONE, Entry, FileRecord
from ctk.change.faults import write_fault
from ctk.change.files import LEFT, make_folder, put_back, remove_empty_folders, remove_if_there
from ctk.change.journal import Journal
from ctk.change.lock import lock
from ctk.change.signals import deferred_signals
from ctk.errors import CtkError
from ctk.result import Message


def repair(
    journal: Journal, state_directory: str, key: str, wait_seconds: float = 10.0, *, command: Sequence[str] = ()
) -> tuple[Message, ...]:
    """Undo unfinished runs of this key under its lock, before a plan is made. Raises BusyFault, WriteFault."""
    if not journal.unfinished(key):
        return ()
    with lock(state_directory, key, wait_seconds, command=command):
        return recover(journal, key)


def recover(journal: Journal, key: str) -> tuple[Message, ...]:
    """The same for a caller that holds the lock. Raises WriteFault if a file cannot be put back; it is tried again."""
    messages: list[Message] = []
    for entry in journal.unfinished(key):
        with deferred_signals():
            messages += _undo(journal, entry)
    return tuple(messages)


def _undo(journal: Journal, entry: Entry) -> list[Message]:
    left: list[str] = []
    in_place = journal.in_place(entry)
    try:
        for folder in sorted(entry.removed_folders, key=lambda item: len(item.path)):
            make_folder(folder.path, folder.mode, (folder.uid, folder.gid))
        for record in reversed(entry.files):
            left += _put_back(journal, entry, record, torn=record.target in in_place)
    except OSError as error:
        raise write_fault(
            error,
            error.filename or entry.files[0].path,
            verb="undo an interrupted run's change of",
            ending=f"The old files are in {entry.folder}. Then run the command again: it starts with this.",
        ) from error
    remove_empty_folders(reversed(entry.created_folders))
    journal.mark(entry, ABANDONED if left else UNDONE)
    return _messages(entry, left)


def _put_back(journal: Journal, entry: Entry, record: FileRecord, *, torn: bool) -> list[str]:
    """Nothing, or why the file was left as it is."""
    remove_if_there(record.temporary)
    try:
        step = journal.step(entry, record)
    except CtkError as error:
        return [f"{record.path} ({error.message})"]
    if put_back(step, torn=torn) == LEFT:
        return [f"{record.path} (changed by somebody else since)"]
    return []


def _messages(entry: Entry, left: list[str]) -> list[Message]:
    if not left:
        return [Message("warning", f"an earlier run ({entry.operation}, {entry.id}) was cut short; it has been undone")]
    return [
        Message(
            "warning",
            f"an earlier run ({entry.operation}, {entry.id}) was cut short; left as they are: {', '.join(left)}; "
            f"the old bytes are in {entry.id}.abandoned in the journal",
        )
    ]
