"""A snapshot as a versioned JSON document and back; it reads and writes no file."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import NamedTuple, Union, get_args, get_origin, get_type_hints

from ctk.errors import CtkError
from ctk.facts import Unknown
from ctk.facts.snapshot import SNAPSHOT_MAJOR, SNAPSHOT_MINOR, Snapshot
from ctk.record import Record

VERSION_KEY = "snapshot_version"
NOT_RECORDED = Unknown("not recorded in this snapshot")


def snapshot_to_document(snapshot: Snapshot) -> dict[str, object]:
    """What JSON can hold: records are objects, tuples arrays, Unknown is {"unknown": reason}, absent is null."""
    document = _encode(snapshot)
    assert isinstance(document, dict)  # noqa: S101 - a record is always encoded as an object; this tells mypy so
    return {VERSION_KEY: f"{SNAPSHOT_MAJOR}.{SNAPSHOT_MINOR}", **document}


def snapshot_from_document(document: object) -> Snapshot:
    """The snapshot of a document. Keys it does not know are passed over; absent ones get their default or Unknown.

    Raises CtkError for a newer major version, TypeError or ValueError for what is no snapshot: the text says where.
    """
    version = document.get(VERSION_KEY) if isinstance(document, Mapping) else None
    if version is None:
        raise ValueError(f"it has no {VERSION_KEY}")
    _check_version(str(version))
    snapshot = _decode(Snapshot, document, "snapshot")
    assert isinstance(snapshot, Snapshot)  # noqa: S101 - _decode returns what it was asked for; this tells mypy so
    return snapshot


def record_from_document(kind: type, document: object) -> object:
    """One record of the data model; fields that are not there get their default or Unknown. Raises as above."""
    return _decode(kind, document, kind.__name__)


def _check_version(version: str) -> None:
    major = version.partition(".")[0]
    if not major.isascii() or not major.isdigit():
        raise ValueError(f"{VERSION_KEY} is {version!r}")
    if int(major) > SNAPSHOT_MAJOR:
        raise CtkError(
            f"cannot read the snapshot: it has version {version}, this ctk reads up to {SNAPSHOT_MAJOR}",
            code="snapshot-too-new",
            hint="Use the ctk that saved it, or a newer one. Nothing was changed.",
        )
    if int(major) < 1:
        raise ValueError(f"{VERSION_KEY} is {version!r}")


def _encode(value: object) -> object:
    if isinstance(value, Unknown):
        return {"unknown": value.reason}
    if _is_record(type(value)):
        return {field.name: _encode(getattr(value, field.name)) for field in _fields(type(value))}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    return value


def _decode(kind: object, value: object, where: str) -> object:
    """The value as one of the type `kind`. TypeError or ValueError names the place that does not fit."""
    if isinstance(kind, types.UnionType) or get_origin(kind) is Union:
        return _decode_union(get_args(kind), value, where)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise TypeError(f"{where} is no list")
        return tuple(_decode(get_args(kind)[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    if kind is Unknown:
        if not isinstance(value, Mapping) or not isinstance(value.get("unknown"), str):
            raise ValueError(f"{where} is no reason")
        return Unknown(value["unknown"])
    if isinstance(kind, type) and _is_record(kind):
        return _decode_record(kind, value, where)
    if type(value) is not kind:
        raise ValueError(f"{where} is {type(value).__name__}, not {getattr(kind, '__name__', kind)}")
    return value


def _decode_union(kinds: tuple[object, ...], value: object, where: str) -> object:
    if value is None and types.NoneType in kinds:
        return None
    if Unknown in kinds and isinstance(value, Mapping) and "unknown" in value:
        return _decode(Unknown, value, where)
    others = [kind for kind in kinds if kind not in (Unknown, types.NoneType)]
    for kind in others[:-1]:
        try:
            return _decode(kind, value, where)
        except (TypeError, ValueError):
            continue
    return _decode(others[-1], value, where)


def _decode_record(kind: type, value: object, where: str) -> object:
    if not isinstance(value, Mapping):
        raise TypeError(f"{where} is no object")
    found = {}
    for field in _fields(kind):
        if field.name in value:
            found[field.name] = _decode(field.type, value[field.name], f"{where}.{field.name}")
        elif field.is_required:
            found[field.name] = _missing(field, where)
    result: object = kind(**found)
    return result


def _missing(field: "_Field", where: str) -> Unknown:
    """An older ctk of the same major version did not look yet."""
    if Unknown in get_args(field.type):
        return NOT_RECORDED
    raise ValueError(f"{where} has no {field.name}")


class _Field(NamedTuple):
    name: str
    type: object
    is_required: bool


def _is_record(kind: type) -> bool:
    """A frozen dataclass, a Record or a NamedTuple."""
    return is_dataclass(kind) or hasattr(kind, "_fields")


def _fields(kind: type) -> tuple[_Field, ...]:
    if is_dataclass(kind):
        return tuple(_Field(field.name, field.type, field.default is MISSING) for field in fields(kind))
    hints = get_type_hints(kind)
    if issubclass(kind, Record):
        return tuple(_Field(name, hints[name], not hasattr(kind, name)) for name in kind._fields)
    defaults: Mapping[str, object] = getattr(kind, "_field_defaults", {})
    return tuple(_Field(name, hint, name not in defaults) for name, hint in hints.items())
