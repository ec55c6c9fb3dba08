"""The independent second look at an edited JSON text: exact trees and their comparison; edits nothing."""

from collections.abc import Mapping

from ctk.errors import SelfCheckFault
from ctk.record import Record

Path = tuple[str, ...]


class NumberText(Record):
    """A number as it is written: 1e21 and 1E+21 differ, and so do 1 and 1.0."""

    text: str


class Pairs(Record):
    """An object with the order of its members and with repeated keys."""

    members: tuple[tuple[str, object], ...]


def exact_tree(text: str) -> object:
    """The document as the `json` module reads it, nothing merged and nothing rounded."""
    import json

    return json.loads(text, parse_int=NumberText, parse_float=NumberText, object_pairs_hook=_pairs)


def _pairs(members: list[tuple[str, object]]) -> Pairs:
    return Pairs(tuple(members))


def tree_of(value: object) -> object:
    """A Python value in the form of `exact_tree`."""
    if isinstance(value, Mapping):
        return Pairs(tuple((str(key), tree_of(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return [tree_of(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return NumberText(repr(value))
    return value


def with_value(tree: object, path: Path, value: object) -> object:
    """The tree with `value` at `path`: in its place, or as the last member."""
    if not path:
        return value
    if not isinstance(tree, Pairs):
        return Pairs(((path[0], with_value(None, path[1:], value)),))
    members = list(tree.members)
    for index, (key, item) in enumerate(members):
        if key == path[0]:
            members[index] = (key, with_value(item, path[1:], value))
            return Pairs(tuple(members))
    members.append((path[0], with_value(None, path[1:], value)))
    return Pairs(tuple(members))


def without_value(tree: object, path: Path) -> object:
    """The tree without the member at `path`."""
    if not isinstance(tree, Pairs):
        return tree
    members: list[tuple[str, object]] = []
    for key, item in tree.members:
        if key != path[0]:
            members.append((key, item))
        elif len(path) > 1:
            members.append((key, without_value(item, path[1:])))
    return Pairs(tuple(members))


def require_tree(text: str, expected: object, path: str) -> None:
    """Raise SelfCheckFault unless `text` is exactly the expected document."""
    try:
        found = exact_tree(text)
    except (ValueError, RecursionError) as error:
        raise _fault(path, f"the new text does not parse ({error})") from error
    if found != expected:
        raise _fault(path, "the new text holds something else than was meant")


def _fault(path: str, cause: str) -> SelfCheckFault:
    return SelfCheckFault(
        f"cannot edit {path}: {cause}; this is a bug in ctk",
        hint="Nothing was changed. Please report this, with the file.",
        path=path,
    )
