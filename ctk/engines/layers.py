"""Configuration spread over several TOML files: parse, look up, merge as the engines merge; sees texts, never files."""

from collections.abc import Iterable, Mapping
from typing import cast

from ctk.edit import toml
from ctk.engines.base import Layer
from ctk.errors import ParseFault
from ctk.record import Record

Path = tuple[str, ...]
Table = Mapping[str, object]


class Document(Record):
    """One file in load order, parsed; text "" for a file that does not exist yet."""

    path: str
    text: str
    content: Table
    exists: bool


def parse_layers(layers: Iterable[Layer]) -> tuple[Document, ...]:
    """Parse every file. Raises ParseFault with path, line and column for the first broken one."""
    return tuple(
        Document(layer.path, layer.text or "", toml.load(layer.text or "", layer.path), layer.text is not None)
        for layer in layers
    )


def look_up(content: Table, path: Path) -> object | None:
    """The value at `path`, None where there is none (TOML has no null)."""
    value: object = content
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def table_at(document: Document, path: Path) -> Table | None:
    """The table at `path`. Raises ParseFault where something else than a table stands on the way."""
    for length in range(1, len(path) + 1):
        value = look_up(document.content, path[:length])
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise wrong_type(document, path[:length], "a table", value)
    return cast(Table, look_up(document.content, path))


def wrong_type(document: Document, path: Path, wanted: str, value: object) -> ParseFault:
    """The error for a key that holds the wrong kind of value."""
    line, column = toml.position_of(document.text, path) or (1, 1)
    name = ".".join(path)
    return ParseFault(
        f"cannot use {document.path}: line {line}, column {column}: {name} must be {wanted}, not {kind_of(value)}",
        hint=f"Correct {name} in {document.path} and run the command again. Nothing was changed.",
        path=document.path,
        line=line,
        column=column,
    )


def kind_of(value: object) -> str:
    """The TOML name of a value's type, for messages."""
    names = {bool: "a boolean", int: "an integer", float: "a float", str: "a string", list: "an array"}
    if isinstance(value, Mapping):
        return "a table"
    return names.get(type(value), "a date or time")


def deep_merge(low: Table, high: Table) -> dict[str, object]:
    """`high` over `low`, table by table, key by key; neither is changed."""
    merged = dict(low)
    for key, value in high.items():
        present = merged.get(key)
        if isinstance(value, Mapping) and isinstance(present, Mapping):
            merged[key] = deep_merge(present, value)
        else:
            merged[key] = value
    return merged


def last_with(documents: Iterable[Document], path: Path) -> Document | None:
    """The last file, in load order, that has something at `path`."""
    found = None
    for document in documents:
        if look_up(document.content, path) is not None:
            found = document
    return found
