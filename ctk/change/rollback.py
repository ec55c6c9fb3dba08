"""Plans the way back to before an earlier run, from its journal entry; refuses what would lose others' changes."""

import os
from collections.abc import Callable

from ctk.change.diff import diff_texts
from ctk.change.entry import FINISHED, Entry, FileRecord
from ctk.change.files import sha256_of
from ctk.change.journal import Journal
from ctk.change.plan import FileChange, Plan
from ctk.errors import CtkError

Read = Callable[[str], bytes | None]
"""Reads a real file, None if it is not there; given by the caller."""


def plan_rollback(journal: Journal, entry_id: str, read: Read) -> Plan:
    """The plan that undoes the run entry_id (an id or its unique beginning).

    Raises CtkError: no such entry, one that is not finished, damaged bytes, or (code "moved") files that are not as
    that run left them, with the difference in the message. A file that is back already is not in the plan.
    """
    entry = journal.load(entry_id)
    if entry.state != FINISHED:
        raise CtkError(
            f"cannot roll back {entry.id}: that run is {entry.state}, there is nothing of it to take back",
            hint="`ctk runtime history` lists the runs. Nothing was changed.",
            code="no-entry",
        )
    changes = []
    differences = []
    for record in entry.files:
        now = read(record.target)
        change = _change_back(journal, entry, record, now)
        if now == change.after:
            continue
        if _digest(now) != (record.after.sha256 if record.after else None):
            differences.append(_difference(journal, entry, record, now))
        changes.append(change)
    if differences:
        raise _moved(entry, differences)
    return Plan("rollback", entry.key, tuple(reversed(changes)), facts=(("rollback_of", entry.id),))


def _change_back(journal: Journal, entry: Entry, record: FileRecord, now: bytes | None) -> FileChange:
    before = journal.before_bytes(entry, record)
    folders = [folder for folder in entry.created_folders if record.target.startswith(folder + os.sep)]
    state = record.before
    return FileChange(
        path=record.path,
        target=record.target,
        before=now,
        after=before,
        mode=state.mode if state else 0o644,
        owner=(state.uid, state.gid) if state else None,
        remove_folders=tuple(reversed(folders)) if before is None else (),
    )


def _digest(data: bytes | None) -> str | None:
    return None if data is None else sha256_of(data)


def _difference(journal: Journal, entry: Entry, record: FileRecord, now: bytes | None) -> str:
    left = journal.after_bytes(entry, record)
    before, after = ((data or b"").decode("utf-8", "backslashreplace") for data in (left, now))
    old_name = "/dev/null" if left is None else f"{record.path} (as left by {entry.id})"
    new_name = "/dev/null" if now is None else f"{record.path} (today)"
    return diff_texts(before, after, old_name, new_name)


def _moved(entry: Entry, differences: list[str]) -> CtkError:
    return CtkError(
        f"cannot roll back {entry.id}: files are not as that run left them\n" + "".join(differences).rstrip("\n"),
        hint=f"Take these changes back first, or restore by hand from {entry.folder}. Nothing was changed.",
        code="moved",
        path=entry.files[0].path,
    )
