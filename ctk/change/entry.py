"""One journal entry as a value, and its JSON form (format 1) in both directions; opens no file."""

from collections.abc import Mapping
from typing import TypeVar

from ctk.change.files import FileState, FolderState
from ctk.record import Record

T = TypeVar("T")

FORMAT = 1

PENDING = "pending"
FINISHED = "finished"
UNDONE = "undone"
ABANDONED = "abandoned"

CYCLE_FACT = "cycle"
"""A plan's fact about our part in its files. "start": none of our keys was there, a new cycle begins even if an
earlier one was never closed. "open": this unconfigure leaves some of our keys, the cycle goes on."""


class FileRecord(Record):
    """One file of an entry; before None = it did not exist, after None = it was removed.

    backup, result: names of the files in the entry's folder that hold the bytes, "" for none. cycle: id of the entry
    with the bytes from before our first configure. unbroken: every run since then began with the bytes that the run
    before it had left. returns: this run brought back exactly the bytes that the cycle began with.
    """

    path: str
    target: str
    action: str
    before: FileState | None
    after: FileState | None
    temporary: str
    backup: str
    result: str
    cycle: str
    unbroken: bool
    returns: bool


class Entry(Record):
    """One run. state is pending, finished, undone (all was put back) or abandoned (something could not be)."""

    id: str
    state: str
    folder: str
    time: str
    command: tuple[str, ...]
    ctk_version: str
    operation: str
    key: str
    facts: tuple[tuple[str, str], ...]
    files: tuple[FileRecord, ...]
    created_folders: tuple[str, ...] = ()
    removed_folders: tuple[FolderState, ...] = ()

    def file(self, target: str) -> FileRecord | None:
        """The record of this real file, None if the run did not change it."""
        return next((record for record in self.files if record.target == target), None)

    def fact(self, name: str) -> str:
        """The plan's fact of that name, "" if it has none."""
        return dict(self.facts).get(name, "")


class EntryFault(ValueError):
    """An entry.json that this version cannot use; the text is the reason."""


def entry_to_json(entry: Entry) -> str:
    """The text of entry.json. The state is not in it: the folder's name alone carries it."""
    import json

    document = {
        "format": FORMAT,
        "id": entry.id,
        "time": entry.time,
        "command": list(entry.command),
        "ctk_version": entry.ctk_version,
        "operation": entry.operation,
        "key": entry.key,
        "facts": dict(entry.facts),
        "files": [_file_to_json(record) for record in entry.files],
        "created_folders": list(entry.created_folders),
        "removed_folders": [folder._asdict() for folder in entry.removed_folders],
    }
    return json.dumps(document, indent=2) + "\n"


def _file_to_json(record: FileRecord) -> dict[str, object]:
    return {**record._asdict(), "before": _state_to_json(record.before), "after": _state_to_json(record.after)}


def _state_to_json(state: FileState | None) -> dict[str, object] | None:
    return None if state is None else {**state._asdict(), "mode": f"{state.mode:04o}", "xattrs": dict(state.xattrs)}


def entry_from_json(text: str, name: str, state: str, folder: str) -> Entry:
    """The entry in this text. Raises EntryFault for anything that is not an entry this version can read."""
    import json

    try:
        document = _Fields(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise EntryFault(f"entry.json is not valid JSON: {error}") from error
    if document.number("format") > FORMAT:
        raise EntryFault(f"it was written by a newer ctk ({document.text('ctk_version')})")
    if document.text("id") != name:
        raise EntryFault("entry.json belongs to another entry")
    return Entry(
        id=name,
        state=state,
        folder=folder,
        time=document.text("time"),
        command=document.texts("command"),
        ctk_version=document.text("ctk_version"),
        operation=document.text("operation"),
        key=document.text("key"),
        facts=document.pairs("facts"),
        files=tuple(_file_from_json(item) for item in document.records("files")),
        created_folders=document.texts("created_folders"),
        removed_folders=tuple(_folder_from_json(item) for item in document.records("removed_folders")),
    )


def _file_from_json(fields: "_Fields") -> FileRecord:
    return FileRecord(
        path=fields.text("path"),
        target=fields.text("target"),
        action=fields.text("action"),
        before=_state_from_json(fields.record("before")),
        after=_state_from_json(fields.record("after")),
        temporary=fields.text("temporary"),
        backup=_plain_name(fields.text("backup")),
        result=_plain_name(fields.text("result")),
        cycle=fields.text("cycle"),
        unbroken=fields.flag("unbroken"),
        returns=fields.flag("returns"),
    )


def _plain_name(name: str) -> str:
    if "/" in name or name in (".", ".."):
        raise EntryFault(f"{name!r} is no file name")
    return name


def _state_from_json(fields: "_Fields | None") -> FileState | None:
    if fields is None:
        return None
    return FileState(
        sha256=fields.text("sha256"),
        size=fields.number("size"),
        mode=_octal(fields.text("mode")),
        uid=fields.number("uid"),
        gid=fields.number("gid"),
        mtime_ns=fields.number("mtime_ns"),
        xattrs=fields.pairs("xattrs"),
    )


def _octal(text: str) -> int:
    try:
        return int(text, 8)
    except ValueError as error:
        raise EntryFault(f"{text!r} is no file mode") from error


def _folder_from_json(fields: "_Fields") -> FolderState:
    return FolderState(fields.text("path"), fields.number("mode"), fields.number("uid"), fields.number("gid"))


class _Fields:
    """A JSON object whose fields are asked for by type; what is missing or of another type is an EntryFault."""

    def __init__(self, value: object) -> None:
        if not isinstance(value, dict):
            raise EntryFault("entry.json holds something else than an object")
        self._value: Mapping[str, object] = value

    def _get(self, name: str, kind: type[T]) -> T:
        value = self._value.get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise EntryFault(f"its field {name!r} is missing or of another type")
        return value

    def text(self, name: str) -> str:
        return self._get(name, str)

    def number(self, name: str) -> int:
        return self._get(name, int)

    def flag(self, name: str) -> bool:
        return self._get(name, bool)

    def texts(self, name: str) -> tuple[str, ...]:
        values: list[object] = self._get(name, list)
        return tuple(self._string(name, value) for value in values)

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        values: dict[str, object] = self._get(name, dict)
        return tuple((key, self._string(name, value)) for key, value in values.items())

    def records(self, name: str) -> tuple["_Fields", ...]:
        values: list[object] = self._get(name, list)
        return tuple(_Fields(value) for value in values)

    def record(self, name: str) -> "_Fields | None":
        value = self._value.get(name)
        return None if value is None else _Fields(value)

    def _string(self, name: str, value: object) -> str:
        if not isinstance(value, str):
            raise EntryFault(f"its field {name!r} holds something else than strings")
        return value
