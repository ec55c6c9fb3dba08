"""Compares parsed configurations, type by type, whatever their format; it knows no text and no engine."""

from collections.abc import Mapping, Sequence
from typing import Final

Path = tuple[str, ...]


class _Missing:
    """Stands for a key that is not there: None is a value in JSON."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


def lookup(data: Mapping[str, object], path: Path) -> object:
    """The value at `path`, MISSING if it, or a table on the way to it, is not there."""
    value: object = data
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return MISSING
        value = value[key]
    return value


def plain(value: object) -> object:
    """The value in the types a parser gives: dict for any mapping, list for any sequence but str."""
    if isinstance(value, Mapping):
        return {str(key): plain(member) for key, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(member) for member in value]
    return value


def is_equal(left: object, right: object) -> bool:
    """Deep equality that keeps types apart: 1, 1.0 and true differ; nan equals nan, 0.0 is not -0.0, offsets count."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_equal, left, right))
    if isinstance(left, str | int):
        return left == right
    return repr(left) == repr(right)


def edited_only(before: Mapping[str, object], after: Mapping[str, object], owned: Sequence[Path]) -> tuple[Path, ...]:
    """The paths outside `owned` at which `before` and `after` differ; empty when only owned paths were edited.

    A table that is there only because an owned path needs it is no difference of its own; an empty one is.
    """
    found: list[Path] = []
    _differences(dict(before), dict(after), (), frozenset(owned), found)
    return tuple(found)


def _differences(left: object, right: object, path: Path, owned: frozenset[Path], found: list[Path]) -> None:
    if path in owned:
        return
    if left and right is MISSING and isinstance(left, dict):
        right = {}
    if right and left is MISSING and isinstance(right, dict):
        left = {}
    if isinstance(left, dict) and isinstance(right, dict):
        for key in left | right:
            _differences(left.get(key, MISSING), right.get(key, MISSING), (*path, key), owned, found)
    elif not is_equal(left, right):
        found.append(path)
