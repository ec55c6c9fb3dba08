"""Remembers every run before it changes a file, and what files were like before us; changes nothing but the journal."""

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator

from ctk.change.cycle import Baseline, cycle_of, find_baseline, kept_for_ever
from ctk.change.entry import (
    ABANDONED,
    CYCLE_FACT,
    FINISHED,
    PENDING,
    UNDONE,
    Entry,
    EntryFault,
    FileRecord,
    entry_from_json,
    entry_to_json,
)
from ctk.change.faults import cause_of, journal_fault
from ctk.change.files import FileState, FolderState, Step, read_file, sha256_of, sync_folder
from ctk.change.plan import Plan
from ctk.change.state import JOURNAL_FOLDER, PENDING_SUFFIX, file_name_of
from ctk.errors import CtkError
from ctk.record import Record

KEPT_ENTRIES = 50

__all__ = ["CYCLE_FACT", "KEPT_ENTRIES", "Baseline", "Damaged", "Draft", "Entry", "Journal"]

_NAME = re.compile(r"(?P<id>\d{8}T\d{6}\.\d{6}Z-[0-9a-f]{8})(?P<suffix>\.\w+)?")
_SUFFIXES = {PENDING: PENDING_SUFFIX, FINISHED: "", UNDONE: ".undone", ABANDONED: ".abandoned"}
_STATES = {suffix: state for state, suffix in _SUFFIXES.items()}
_BUILDING = ".new-"  # an entry that is being written or deleted: nothing was, or is any more, changed for it


class Damaged(Record):
    """A folder in the journal that is not an entry this version can read; it is left alone for ever."""

    name: str
    reason: str


class Draft(Record):
    """What a run is about to do, as far as the journal must know it."""

    id: str
    plan: Plan
    steps: tuple[Step, ...]
    created_folders: tuple[str, ...]
    removed_folders: tuple[FolderState, ...]
    command: tuple[str, ...]
    ctk_version: str


class Journal:
    """The journal below a state folder. clock gives seconds since 1970."""

    def __init__(self, state_directory: str, clock: Callable[[], float] = time.time) -> None:
        self.folder = os.path.join(state_directory, JOURNAL_FOLDER)
        self._clock = clock

    # -- reading ------------------------------------------------------------------------------------------------

    def entries(self) -> tuple[Entry, ...]:
        """All readable entries, oldest first."""
        return tuple(item for item in self._all() if isinstance(item, Entry))

    def damaged(self) -> tuple[Damaged, ...]:
        """The folders that are no readable entry, with the reason."""
        return tuple(item for item in self._all() if isinstance(item, Damaged))

    def unfinished(self, key: str) -> tuple[Entry, ...]:
        """Runs of this key that were cut short, newest first."""
        pending = (self._read(name) for name in reversed(self._names()) if name.endswith(PENDING_SUFFIX))
        return tuple(entry for entry in pending if isinstance(entry, Entry) and entry.key == key)

    def load(self, wanted: str) -> Entry:
        """The entry with this id or unique beginning of its id or of the part behind the time. Raises CtkError."""
        found = [item for item in self._all() if wanted and _is_named(item, wanted)]
        if len(found) > 1:
            raise CtkError(
                f"cannot tell which run {wanted} means: {', '.join(_name_of(item) for item in found)}",
                hint="Give more of the id. Nothing was changed.",
                code="no-entry",
            )
        if not found:
            raise CtkError(
                f"cannot find the run {wanted} in {self.folder}",
                hint="`ctk runtime history` lists the runs. Nothing was changed.",
                code="no-entry",
            )
        if isinstance(found[0], Damaged):
            raise self._unusable(found[0].name, found[0].reason)
        return found[0]

    def before_bytes(self, entry: Entry, record: FileRecord) -> bytes | None:
        """The file's bytes from before the run, None if it did not exist. Raises CtkError if they are damaged."""
        return self._bytes(entry, record.before, record.backup)

    def after_bytes(self, entry: Entry, record: FileRecord) -> bytes | None:
        """The file's bytes as the run left them, None if it was removed. Raises CtkError if they are damaged."""
        return self._bytes(entry, record.after, record.result)

    def step(self, entry: Entry, record: FileRecord) -> Step:
        """The record as a step that can be put back. Raises CtkError if the bytes are damaged."""
        before, after = self.before_bytes(entry, record), self.after_bytes(entry, record)
        return Step(record.path, record.target, before, after, record.before, 0, None, record.temporary)

    def in_place(self, entry: Entry) -> frozenset[str]:
        """The real files that the run was writing in place."""
        names = os.listdir(entry.folder)
        return frozenset(record.target for index, record in enumerate(entry.files) if f"in-place-{index}" in names)

    def baseline(self, target: str) -> Baseline | None:
        """How this real file was before our first configure; None if no configure of ours stands. Raises CtkError."""
        return find_baseline(self.entries(), target, self.before_bytes)

    # -- writing ------------------------------------------------------------------------------------------------

    def new_id(self) -> str:
        """An id that sorts behind all that are there, whatever the clock says."""
        now = int(self._clock() * 1_000_000)
        names = self._names()
        if names and _stamp(now) <= names[-1][:22]:
            now = _microseconds(names[-1]) + 1
        return f"{_stamp(now)}Z-{os.urandom(4).hex()}"

    def prepare(self, draft: Draft) -> Entry:
        """Write and sync the entry with the old files. Raises WriteFault; then nothing of it is left."""
        entry = self._entry_of(draft)
        building = os.path.join(self.folder, f"{_BUILDING}{file_name_of(entry.key)}-{entry.id}")
        try:
            _make_private_folder(self.folder)
            self._remove_leftovers(entry.key)
            os.mkdir(building, 0o700)
            os.chmod(building, 0o700)
            for step, record in zip(draft.steps, entry.files, strict=True):
                _write_private(os.path.join(building, record.backup), step.before if record.backup else None)
                _write_private(os.path.join(building, record.result), step.after if record.result else None)
            _write_private(os.path.join(building, "entry.json"), entry_to_json(entry).encode("ascii"))
            sync_folder(building)
            os.rename(building, entry.folder)
            sync_folder(self.folder)
        except OSError as error:
            _remove_tree(building)
            raise journal_fault(error, self.folder) from error
        return entry

    def note_in_place(self, entry: Entry, target: str) -> None:
        """Record that this file is going to be written in place: a mix of old and new bytes is ours. Raises OSError."""
        index = next(index for index, record in enumerate(entry.files) if record.target == target)
        _write_private(os.path.join(entry.folder, f"in-place-{index}"), b"")
        sync_folder(entry.folder)

    def mark(self, entry: Entry, state: str) -> Entry:
        """Give the entry another state; one rename, so it is there or not. Raises OSError."""
        folder = os.path.join(self.folder, entry.id + _SUFFIXES[state])
        os.rename(entry.folder, folder)
        sync_folder(self.folder)
        return entry._replace(state=state, folder=folder)

    def finish(self, entry: Entry) -> Entry:
        """The run is complete. Raises OSError."""
        return self.mark(entry, FINISHED)

    def discard(self, entry: Entry) -> None:
        """Forget a run that changed nothing. Raises OSError."""
        leaving = os.path.join(self.folder, f"{_BUILDING}{file_name_of(entry.key)}-{entry.id}")
        os.rename(entry.folder, leaving)
        _remove_tree(leaving)

    def prune(self) -> None:
        """Keep the newest, and for ever what shows a file from before our first configure. Never raises for files."""
        if len(self._names()) <= KEPT_ENTRIES:
            return
        entries = self.entries()
        kept = {entry.id for entry in entries[-KEPT_ENTRIES:]} | kept_for_ever(entries)
        for entry in entries:
            if entry.id not in kept and entry.state != PENDING:
                with contextlib.suppress(OSError):
                    self.discard(entry)

    # -- inside -------------------------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        """The folders that are named as entries, oldest first."""
        try:
            names = os.listdir(self.folder)
        except OSError:
            return []
        return sorted(name for name in names if _NAME.fullmatch(name))

    def _all(self) -> Iterator[Entry | Damaged]:
        try:
            names = sorted(os.listdir(self.folder))
        except FileNotFoundError:
            return
        except OSError as error:
            raise CtkError(
                f"cannot read the journal in {self.folder}: {cause_of(error)}",
                hint="Run the command as root, or name another folder with CTK_STATE_DIR. Nothing was changed.",
                code="read",
                path=self.folder,
            ) from error
        yield from (self._read(name) for name in names if not name.startswith(_BUILDING))

    def _read(self, name: str) -> Entry | Damaged:
        matched = _NAME.fullmatch(name)
        if matched is None:
            return Damaged(name, "it is not named as an entry")
        suffix = matched["suffix"] or ""
        if suffix not in _STATES:
            return Damaged(name, f"its state {suffix[1:]!r} is not known")
        folder = os.path.join(self.folder, name)
        try:
            data = read_file(os.path.join(folder, "entry.json"))
            if data is None:
                return Damaged(name, "it has no entry.json")
            return entry_from_json(data.decode("utf-8", "replace"), matched["id"], _STATES[suffix], folder)
        except OSError as error:
            return Damaged(name, cause_of(error))
        except EntryFault as error:
            return Damaged(name, str(error))

    def _bytes(self, entry: Entry, state: FileState | None, name: str) -> bytes | None:
        if state is None:
            return None
        try:
            data = read_file(os.path.join(entry.folder, name))
        except OSError as error:
            raise self._unusable(entry.id, f"{name}: {cause_of(error)}") from error
        if data is None or sha256_of(data) != state.sha256:
            raise self._unusable(entry.id, f"{name} is {'missing' if data is None else 'damaged'}")
        return data

    def _unusable(self, name: str, reason: str) -> CtkError:
        folder = os.path.join(self.folder, name)
        return CtkError(
            f"cannot use the journal entry {name}: {reason}",
            hint=f"Look into {folder}; ctk leaves it alone. Nothing was changed.",
            code="journal-damaged",
            path=folder,
        )

    def _entry_of(self, draft: Draft) -> Entry:
        plan = draft.plan
        return Entry(
            id=draft.id,
            state=PENDING,
            folder=os.path.join(self.folder, draft.id + PENDING_SUFFIX),
            time=_rfc3339(draft.id),
            command=draft.command,
            ctk_version=draft.ctk_version,
            operation=plan.operation,
            key=plan.key,
            facts=plan.facts,
            files=tuple(self._record_of(draft, index, step) for index, step in enumerate(draft.steps)),
            created_folders=draft.created_folders,
            removed_folders=draft.removed_folders,
        )

    def _record_of(self, draft: Draft, index: int, step: Step) -> FileRecord:
        name = file_name_of(os.path.basename(step.target))
        after = _state_after(step)
        starts = dict(draft.plan.facts).get(CYCLE_FACT) == "start"
        newest_first = (item for item in map(self._read, reversed(self._names())) if isinstance(item, Entry))
        cycle, unbroken, returns = cycle_of(draft.id, starts, step, after, newest_first)
        return FileRecord(
            path=step.path,
            target=step.target,
            action="create" if step.before is None else "remove" if step.after is None else "edit",
            before=step.old,
            after=after,
            temporary=step.temporary,
            backup=f"before-{index}-{name}" if step.old else "",
            result=f"after-{index}-{name}" if after else "",
            cycle=cycle,
            unbroken=unbroken,
            returns=returns,
        )

    def _remove_leftovers(self, key: str) -> None:
        """Half-written entries of this key: we hold its lock, so their run is dead, and it had changed nothing."""
        for name in os.listdir(self.folder):
            prefix = f"{_BUILDING}{file_name_of(key)}-"
            if name.startswith(prefix) and _NAME.fullmatch(name.removeprefix(prefix)):
                _remove_tree(os.path.join(self.folder, name))


def _state_after(step: Step) -> FileState | None:
    if step.after is None:
        return None
    digest, size = sha256_of(step.after), len(step.after)
    if step.old is not None:
        return step.old._replace(sha256=digest, size=size, mtime_ns=0, xattrs=())
    uid, gid = step.owner or (os.geteuid(), os.getegid())
    return FileState(digest, size, step.mode, uid, gid)


def _name_of(item: Entry | Damaged) -> str:
    return item.id if isinstance(item, Entry) else item.name


def _is_named(item: Entry | Damaged, wanted: str) -> bool:
    name = _name_of(item)
    return name.startswith(wanted) or name.partition("-")[2].startswith(wanted)


def _rfc3339(entry_id: str) -> str:
    return f"{entry_id[:4]}-{entry_id[4:6]}-{entry_id[6:11]}:{entry_id[11:13]}:{entry_id[13:15]}Z"


def _stamp(microseconds: int) -> str:
    moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime(microseconds // 1_000_000))
    return f"{moment}.{microseconds % 1_000_000:06d}"


def _microseconds(name: str) -> int:
    from calendar import timegm  # rarely needed: only when the clock was set back

    spans = ((0, 4), (4, 6), (6, 8), (9, 11), (11, 13), (13, 15))
    year, *rest = (int(name[start:end]) for start, end in spans)
    return timegm((max(year, 1970), *rest)) * 1_000_000 + int(name[16:22])


def _make_private_folder(path: str) -> None:
    """The journal's folder and its parent are for us alone; what lies above is made like any folder."""
    state = os.path.dirname(path)
    os.makedirs(os.path.dirname(state), exist_ok=True)
    for folder in (state, path):
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
            os.chmod(folder, 0o700)


def _write_private(path: str, data: bytes | None) -> None:
    """A synced file for the owner alone, whatever the umask."""
    if data is None:
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_tree(folder: str) -> None:
    """Remove a folder of plain files; what cannot be removed is removed by the next run."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
