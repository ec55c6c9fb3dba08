"""Edits TOML text and leaves every other byte alone; proves each edit with tomllib. It knows no engine and no file."""

import tomllib
from collections.abc import Mapping

from ctk.edit.compare import MISSING, Path, edited_only, is_equal, lookup, plain
from ctk.errors import SelfCheckFault

NAMELESS = "the configuration"


def load(text: str, path: str = NAMELESS) -> dict[str, object]:
    """Parse a text. Raises ParseFault with path, line, column and a plain cause."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        from ctk.edit.toml_fault import parse_fault

        raise parse_fault(text, path, error) from error


def set_value(text: str, key: Path, value: object) -> str:
    """Give one key a value; the same text if it has it already. Only the value's characters change, or one line comes.

    A key whose table is not there brings the table. Raises ParseFault where a value stands in the table's place.
    """
    before = load(text)
    wanted = plain(value)
    if is_equal(lookup(before, key), wanted):
        return text
    from ctk.edit.toml_write import put

    return _checked(before, put(text, before, key, wanted), key, wanted)


def add_table(text: str, table: Path, values: Mapping[str, object], after: Path | None = None) -> str:
    """Add a table, its nested mappings as tables of their own; merge into it key by key if it is there.

    It goes behind the table `after` and all below it, else behind its last sibling, else behind its nearest relative,
    else to the end. Raises ParseFault where a value stands in the table's place.
    """
    before = load(text)
    wanted = _merged(lookup(before, table), plain(values))
    if is_equal(lookup(before, table), wanted):
        return text
    from ctk.edit.toml_write import add

    return _checked(before, add(text, before, table, values, after), table, wanted)


def remove(text: str, key: Path, *, empty_parents: tuple[Path, ...] = ()) -> str:
    """Remove a key, or a table with all below it; the same text if it is not there.

    Takes back exactly what set_value and add_table put in. The headers of empty_parents go too, if they are empty then.
    """
    before = load(text)
    from ctk.edit.toml_remove import prune, take_out

    after = text if lookup(before, key) is MISSING else take_out(text, key)
    for parent in sorted(empty_parents, key=len, reverse=True):
        after = prune(after, parent)
    if after == text:
        return text
    return _checked(before, after, key, MISSING, empty_parents)


def append_to_array(text: str, key: Path, value: object) -> str:
    """Add an element at the end of an array, which is made if missing; the same text if it holds the element."""
    before = load(text)
    array = lookup(before, key)
    wanted = plain(value)
    if isinstance(array, list) and any(is_equal(item, wanted) for item in array):
        return text
    if not isinstance(array, list):
        return set_value(text, key, [wanted])
    from ctk.edit.toml_array import append

    return _checked(before, append(text, key, wanted), key, [*array, wanted])


def remove_from_array(text: str, key: Path, value: object) -> str:
    """Remove every element that equals `value`; the array stays, empty if need be. The same text if there is none."""
    before = load(text)
    array = lookup(before, key)
    wanted = plain(value)
    if not isinstance(array, list):
        return text
    after = text
    from ctk.edit.toml_array import drop

    for index in range(len(array) - 1, -1, -1):
        if is_equal(array[index], wanted):
            after = drop(after, key, index)
    if after == text:
        return text
    return _checked(before, after, key, [item for item in array if not is_equal(item, wanted)])


def _merged(old: object, new: object) -> object:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}


def _checked(before: dict[str, object], text: str, key: Path, wanted: object, also: tuple[Path, ...] = ()) -> str:
    """The text, once tomllib has seen the wanted value in it and nothing else changed."""
    from ctk.edit.toml_render import dotted

    try:
        after = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise _bug(dotted(key), f"the result is not TOML: {error}") from error
    if not is_equal(lookup(after, key), wanted):
        raise _bug(dotted(key), "the result does not hold the value asked for")
    foreign = edited_only(before, after, (key, *also))
    if foreign:
        raise _bug(dotted(key), f"the result also changes {', '.join(map(dotted, foreign))}")
    return text


def _bug(name: str, cause: str) -> SelfCheckFault:
    return SelfCheckFault(
        f"cannot edit {name}: {cause}",
        hint="This is a bug in ctk: please report it with the file. Nothing was changed.",
    )
