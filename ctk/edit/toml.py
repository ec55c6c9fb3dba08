"""Edits TOML text and leaves every other byte alone; proves each edit with tomllib. It knows no engine and no file."""

import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from ctk.edit.compare import MISSING, Path, edited_only, is_equal, lookup, plain
from ctk.errors import ParseFault, SelfCheckFault

NAMELESS = "the configuration"

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


def load(text: str, path: str = NAMELESS) -> dict[str, object]:
    """Parse a text. Raises ParseFault with path, line, column and a plain cause. The result is to be read only."""
    try:
        return _parse(text)
    except (ValueError, RecursionError) as error:
        from ctk.edit.toml_fault import parse_fault

        raise parse_fault(text, path, error) from error


@lru_cache(maxsize=16)
def _parse(text: str) -> dict[str, object]:
    """An edit proves itself by parsing before and after, and the next edit begins with what the last one ended with."""
    return tomllib.loads(text)


def _depth_guarded(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Values nested just less deeply than tomllib can follow may still be too deep for the rest of the way."""

    @wraps(function)
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        try:
            return function(*args, **kwargs)
        except RecursionError as error:
            raise ParseFault(
                f"cannot edit {NAMELESS}: values are nested too deeply",
                hint="Nest the values less deeply. Nothing was changed.",
            ) from error

    return guarded


@_depth_guarded
def set_value(text: str, key: Path, value: object) -> str:
    """Give one key a value; the same text if it has it already. Only the value's characters change, or one line comes.

    A key whose table is not there brings the table. Raises ParseFault where a value stands in the table's place.
    """
    before = load(text)
    wanted = plain(value)
    if is_equal(lookup(before, key), wanted):
        return text
    from ctk.edit.toml_write import put

    return checked(before, put(text, before, key, wanted), key, wanted)


@_depth_guarded
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

    return checked(before, add(text, before, table, values, after), table, wanted)


@_depth_guarded
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
    return checked(before, after, key, MISSING, empty_parents)


@_depth_guarded
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

    return checked(before, append(text, key, wanted), key, [*array, wanted])


@_depth_guarded
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
    return checked(before, after, key, [item for item in array if not is_equal(item, wanted)])


@_depth_guarded
def raw_value(text: str, key: Path) -> str | None:
    """The value as it is written, to be given back later; None if the key is not there or is a table with a header."""
    load(text)
    from ctk.edit.toml_scan import scan

    member = scan(text).member(key)
    return None if member is None else text[member.value.start : member.value.end]


@_depth_guarded
def set_raw_value(text: str, key: Path, raw: str) -> str:
    """Give one key a value as raw_value returned it. Raises ParseFault if `raw` is not one value."""
    before = load(text)
    from ctk.edit.toml_scan import scan
    from ctk.edit.toml_write import put_raw

    line = f"value = {raw}"
    wanted = load(line, "the earlier value")["value"]
    if scan(line).sections[0].members[0].value.end != len(line):
        raise ParseFault(f"cannot use the value {raw!r}: it is more than one value", hint="Nothing was changed.")
    document = scan(text)
    member = document.member(key)
    if member is None and lookup(before, key) is not MISSING:
        return set_value(text, key, wanted)
    if member is None:
        return checked(before, put_raw(document, before, key, raw), key, wanted)
    after = text[: member.value.start] + raw + text[member.value.end :]
    return text if after == text else checked(before, after, key, wanted)


@_depth_guarded
def restore_table(text: str, key: Path, original_text: str) -> str:
    """Put a table or key back as it is written in original_text.

    If it is not there it is removed, with those headers of its parents that original_text does not have either.
    """
    before = load(text)
    wanted = lookup(load(original_text, "the earlier text"), key)
    from ctk.edit.toml_restore import new_parents, restore

    if wanted is MISSING:
        return remove(text, key, empty_parents=new_parents(original_text, key))

    after = restore(text, key, original_text)
    return text if after == text else checked(before, after, key, wanted)


@_depth_guarded
def position_of(text: str, key: Path) -> tuple[int, int] | None:
    """Line and column, 1-based, of a key, or of the first header of a table; None if it is not there."""
    load(text)
    from ctk.edit.text import position
    from ctk.edit.toml_scan import scan

    document = scan(text)
    member = document.member(key) or next(iter(document.dotted(key)), None)
    found = member or next(iter(document.sections_under(key)), None)
    return None if found is None else position(text, found.start)


def is_written(text: str, table: Path) -> bool:
    """Whether the table stands there itself, as a header or in braces, and is not only implied by what is below it."""
    from ctk.edit.toml_scan import scan

    document = scan(text)
    return document.section(table) is not None or document.member(table) is not None


@_depth_guarded
def comment_key(text: str, key: Path) -> str:
    """Turn the key's line into a comment; a key in braces is removed. The same text if it is not there."""
    before = load(text)
    from ctk.edit.toml_comment import comment_out

    after = comment_out(text, key)
    return remove(text, key) if after is None else checked(before, after, key, MISSING)


@_depth_guarded
def comment_key_as_in(text: str, key: Path, original_text: str) -> str | None:
    """Turn the key's line into the comment that stood for it in the original; None if none did."""
    before = load(text)
    from ctk.edit.toml_comment import comment_as_in

    after = comment_as_in(text, key, original_text)
    return None if after is None else checked(before, after, key, MISSING)


@_depth_guarded
def uncomment_key(text: str, key: Path, value: object) -> str:
    """Give one key a value, in the place of the line `#key = ...` of its table if there is one."""
    before = load(text)
    from ctk.edit.toml_comment import comment_in

    wanted = plain(value)
    after = comment_in(text, key, wanted) if lookup(before, key) is MISSING else None
    return set_value(text, key, wanted) if after is None else checked(before, after, key, wanted)


def _merged(old: object, new: object) -> object:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}


def checked(before: dict[str, object], text: str, key: Path, wanted: object, also: tuple[Path, ...] = ()) -> str:
    """The text, once tomllib has seen the wanted value in it and nothing else changed."""
    from ctk.edit.toml_render import dotted

    try:
        after = _parse(text)
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
