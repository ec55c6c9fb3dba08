"""From our first configure of a file to its undoing: how it was before, and whether only we changed it; no I/O."""

from collections.abc import Callable, Iterable, Sequence

from ctk.change.entry import ABANDONED, CYCLE_FACT, FINISHED, UNDONE, Entry, FileRecord
from ctk.change.files import FileState, Step, sha256_of
from ctk.record import Record

_CHANGED = (FINISHED, ABANDONED)


class Baseline(Record):
    """A file as it was before our first configure that still stands.

    before None = the file did not exist. created_folders: made by ctk for it, outermost first. facts: those of that
    first run (the earlier default runtime). unbroken: nobody else changed the file between our runs.
    """

    entry_id: str
    before: bytes | None
    state: FileState | None
    facts: tuple[tuple[str, str], ...]
    created_folders: tuple[str, ...]
    unbroken: bool
    last_after_sha256: str | None

    def holds_only_ours(self, today: bytes | None) -> bool:
        """Whether all that parts today's bytes from `before` was done by ctk."""
        return self.unbroken and self.last_after_sha256 == (None if today is None else sha256_of(today))


def find_baseline(
    entries: Sequence[Entry], target: str, read: Callable[[Entry, FileRecord], bytes | None]
) -> Baseline | None:
    """What the entries, oldest first, say of this real file; None if no change of ours stands."""
    last = _latest(reversed(entries), target)
    if last is None or _closes(*last):
        return None
    first = next((entry for entry in entries if entry.id == last[1].cycle), None)
    record = first.file(target) if first else None
    if first is None or record is None:
        return None
    after = last[1].after
    return Baseline(
        entry_id=first.id,
        before=read(first, record),
        state=record.before,
        facts=first.facts,
        created_folders=_created_folders(entries, first.id, target),
        unbroken=last[1].unbroken and last[0].state == FINISHED,
        last_after_sha256=after.sha256 if after else None,
    )


def _created_folders(entries: Sequence[Entry], since: str, target: str) -> tuple[str, ...]:
    folders = {
        folder
        for entry in entries
        if entry.id >= since and entry.state in _CHANGED and entry.file(target)
        for folder in entry.created_folders
        if target.startswith(folder + "/")
    }
    return tuple(sorted(folders, key=len))


def cycle_of(
    own_id: str, starts: bool, step: Step, after: FileState | None, newest_first: Iterable[Entry]
) -> tuple[str, bool, bool]:
    """For a new record: the entry its cycle began with, whether the chain is unbroken, whether it leads back."""
    entries = iter(newest_first)
    last = _latest(entries, step.target)
    if last is None or starts or _closes(*last):
        return own_id, True, False
    entry, record = last
    unbroken = record.unbroken and entry.state == FINISHED and _same(record.after, step.old)
    first = entry if entry.id == record.cycle else next((item for item in entries if item.id == record.cycle), None)
    begun = first.file(step.target) if first else None
    return record.cycle, unbroken, begun is not None and _same(begun.before, after)


def kept_for_ever(entries: Sequence[Entry]) -> frozenset[str]:
    """The ids of each file's very first entry, and of the one its present cycle began with."""
    kept: dict[str, str] = {}
    current: dict[str, str] = {}
    for entry in entries:
        for record in entry.files:
            if entry.state != UNDONE:
                kept.setdefault(record.target, entry.id)
                current[record.target] = record.cycle
    return frozenset((*kept.values(), *current.values()))


def _latest(newest_first: Iterable[Entry], target: str) -> tuple[Entry, FileRecord] | None:
    for entry in newest_first:
        record = entry.file(target) if entry.state in (FINISHED, ABANDONED) else None
        if record is not None:
            return entry, record
    return None


def _closes(entry: Entry, record: FileRecord) -> bool:
    """Whether nothing of ours was left in the file when this run had ended."""
    if entry.state != FINISHED:
        return False
    return record.returns or (entry.operation == "unconfigure" and entry.fact(CYCLE_FACT) != "open")


def _same(one: FileState | None, other: FileState | None) -> bool:
    return (one.sha256 if one else None) == (other.sha256 if other else None)
