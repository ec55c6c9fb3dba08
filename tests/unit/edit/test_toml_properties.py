"""Properties of the TOML editor over random texts: nothing foreign moves, and every insertion can be taken back."""

import datetime
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctk.edit import toml
from ctk.edit.compare import MISSING, Path, edited_only, is_equal, lookup
from ctk.edit.toml_scan import scan
from ctk.errors import ParseFault
from tests.unit.edit.toml_texts import NAMES, texts

LEAVES: st.SearchStrategy[object] = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.floats(),
    st.text(max_size=8),
    st.datetimes(timezones=st.just(datetime.UTC) | st.none()).map(lambda moment: moment.replace(fold=0)),
    st.dates(),
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3), max_leaves=4)
TABLES = st.recursive(
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from(NAMES), VALUES | inner, max_size=3),
    max_leaves=4,
)


@st.composite
def texts_and_paths(draw: st.DrawFn) -> tuple[str, Path]:
    text = draw(texts())
    known = _paths(tomllib.loads(text), ())
    start = draw(st.sampled_from(known))
    return text, (*start, *draw(st.lists(st.sampled_from((*NAMES, "new")), min_size=0 if start else 1, max_size=2)))


def _paths(value: object, path: Path) -> list[Path]:
    if not isinstance(value, dict):
        return [path]
    return [path, *(found for key, member in value.items() for found in _paths(member, (*path, key)))]


def _created(text: str, parents: list[Path]) -> tuple[Path, ...]:
    """The parents that are not there, or only implied by the headers of others."""
    document, data = scan(text), tomllib.loads(text)
    return tuple(
        path
        for path in parents
        if lookup(data, path) is MISSING
        or not (document.section(path) or document.member(path) or document.dotted(path))
    )


def _is_kept(old: str, new: str) -> bool:
    """Whether every character of `old` is in `new`, in order, with one insertion in one place."""
    start = next((index for index, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), len(old))
    return old[start:] == new[len(new) - (len(old) - start) :]


def _check_set(case: tuple[str, Path], value: object) -> None:
    text, key = case
    before = tomllib.loads(text)
    old = lookup(before, key)
    try:
        result = toml.set_value(text, key, value)
    except ParseFault:
        assert _is_blocked(before, key)
        return
    after = tomllib.loads(result)
    assert is_equal(lookup(after, key), value)
    assert edited_only(before, after, (key,)) == ()
    assert toml.set_value(result, key, value) is result
    if old is MISSING:
        assert _is_kept(text, result)
        assert toml.remove(result, key, empty_parents=_created(text, _parents(key))) == text


def _parents(key: Path) -> list[Path]:
    return [key[:depth] for depth in range(1, len(key))]


def _is_blocked(data: dict[str, object], key: Path) -> bool:
    """Whether a value stands where a table is needed, or a table where a value is."""
    found = [lookup(data, key[:depth]) for depth in range(1, len(key) + 1)]
    return any(value is not MISSING and not isinstance(value, dict) for value in found[:-1]) or isinstance(
        found[-1], dict | list
    )


def _check_add(case: tuple[str, Path], values: dict[str, object], chance: int) -> None:
    text, table = case
    before = tomllib.loads(text)
    known = [None, *_paths(before, ())[1:]]
    after_table = known[chance % len(known)]
    old = lookup(before, table)
    try:
        result = toml.add_table(text, table, values, after=after_table)
    except ParseFault:
        assert old is not MISSING or _is_blocked(before, table)
        return
    after = tomllib.loads(result)
    assert edited_only(before, after, (table,)) == ()
    assert toml.add_table(result, table, values, after=after_table) is result
    if old is MISSING:
        assert is_equal(lookup(after, table), values)
        assert _is_kept(text, result)
        assert toml.remove(result, table) == text


def _check_remove(case: tuple[str, Path]) -> None:
    text, key = case
    before = tomllib.loads(text)
    result = toml.remove(text, key)
    after = tomllib.loads(result)
    assert lookup(after, key) is MISSING
    assert edited_only(before, after, (key,)) == ()
    assert (result is text) == (lookup(before, key) is MISSING)
    restored = toml.restore_table(result, key, text)
    assert is_equal(lookup(tomllib.loads(restored), key), lookup(before, key))


def _check_restore(case: tuple[str, Path], values: dict[str, object]) -> None:
    """What merging put into a table that was there is taken back to the byte."""
    text, key = case
    old = lookup(tomllib.loads(text), key)
    is_table = isinstance(old, dict)
    try:
        edited = toml.add_table(text, key, values) if is_table else toml.set_value(text, key, [values])
    except ParseFault:
        return
    assert toml.restore_table(edited, key, edited) is edited
    restored = toml.restore_table(edited, key, text)
    assert restored == text


def _check_array(case: tuple[str, Path], value: object) -> None:
    text, key = case
    old = lookup(tomllib.loads(text), key)
    member = scan(text).member(key)
    if not isinstance(old, list) or member is None:
        return
    result = toml.append_to_array(text, key, value)
    assert toml.append_to_array(result, key, value) is result
    if not any(is_equal(item, value) for item in old):
        assert is_equal(lookup(tomllib.loads(result), key), [*old, value])
        assert toml.remove_from_array(result, key, value) == text
    for item in old:
        assert not any(is_equal(item, other) for other in _array(toml.remove_from_array(text, key, item), key))


def _array(text: str, key: Path) -> list[object]:
    value = lookup(tomllib.loads(text), key)
    assert isinstance(value, list)
    return value


def _check_scan(text: str) -> None:
    """Every key = value of the top level of a section, read by itself, is what the whole text says."""
    data = tomllib.loads(text)
    for member in scan(text).members():
        path = tuple(str(key) for key in member.path)
        if path != member.path:
            continue
        raw = text[member.value.start : member.value.end]
        assert is_equal(tomllib.loads(f"v = {raw}")["v"], lookup(data, path))
        assert toml.raw_value(text, path) == raw
        assert toml.set_raw_value(text, path, raw) is text


CHECKS = {
    "set": lambda examples: settings(max_examples=examples)(given(texts_and_paths(), VALUES)(_check_set)),
    "add": lambda examples: settings(max_examples=examples)(
        given(texts_and_paths(), TABLES, st.integers(0, 99))(_check_add)
    ),
    "remove": lambda examples: settings(max_examples=examples)(given(texts_and_paths())(_check_remove)),
    "restore": lambda examples: settings(max_examples=examples)(given(texts_and_paths(), TABLES)(_check_restore)),
    "array": lambda examples: settings(max_examples=examples)(given(texts_and_paths(), VALUES)(_check_array)),
    "scan": lambda examples: settings(max_examples=examples)(given(texts())(_check_scan)),
}


@pytest.mark.parametrize("name", CHECKS)
def test_property_holds(name: str) -> None:
    CHECKS[name](30)()


@pytest.mark.long
@pytest.mark.parametrize("name", CHECKS)
def test_property_holds_for_long(name: str) -> None:
    CHECKS[name](2500)()
