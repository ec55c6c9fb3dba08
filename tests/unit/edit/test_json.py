"""The JSON editor: one member changes, every other byte stays."""

import json

import pytest

from ctk.edit.json import (
    duplicates,
    load,
    position_of,
    raw_value,
    remove_member,
    set_member,
    set_raw_value,
)
from ctk.errors import ParseFault

ENTRY = {"args": [], "path": "/n"}
RUNTIME = ("runtimes", "nvidia")

FAULTS = [
    ("", 1, 1, "empty"),
    (
        ' \n{\n  "dns": ["192.0.2.1"]\n  "runtimes": {}\n}',
        4,
        3,
        "missing comma: one must stand after line 3, column 22",
    ),
    ('{\n  "live-restore": true,\n}', 2, 23, "trailing comma"),
    ('{"a": [1, 2,]}', 1, 12, "trailing comma"),
    ('{\n  "a": ["x"] },\n "b": 1\n}', 2, 15, "extra data after the top-level object"),
    ('{"a": 1}}', 1, 9, "extra data after the top-level object"),
    ("{} trailing {}", 1, 4, "extra data after the top-level object"),
    ("<!DOCTYPE html>\n<html>", 1, 1, "not JSON, it looks like HTML/XML"),
    ("{'a': 1}", 1, 2, "single quotes"),
    ("{\"a\": 'x'}", 1, 7, "single quotes"),
    ("{\u201ca\u201d: 1}", 1, 2, "typographic quotes"),
    ('{\n  // why\n  "a": 1\n}', 2, 3, "comment (//)"),
    ('{"a": 1 /* why */}', 1, 9, "comment (/*)"),
    ('# why\n{"a": 1}', 1, 1, "comment (#)"),
    ('{"a": 1}\n# why\n', 2, 1, "comment (#)"),
    ('{"a": "x', 1, 7, "unterminated string"),
    ('{"a": "x\n}', 1, 7, "unterminated string"),
    ('{"a": "\\"x\n}', 1, 7, "unterminated string"),
    ('{"a": {"b": 1}', 1, 15, "unterminated object: the one that begins in line 1, column 1"),
    ('{"a": [1,\n', 2, 1, "unterminated array: the one that begins in line 1, column 7"),
    ('{"b": "NaN", "a": NaN}', 1, 19, "NaN is no JSON value"),
    ('{"a": -Infinity}', 1, 7, "-Infinity is no JSON value"),
    ('{"a": True}', 1, 7, "True is no JSON value"),
    ("{a: 1}", 1, 2, "a key without double quotes: a"),
    ('{"a" 1}', 1, 6, "missing colon"),
    ('{"a": 01}', 1, 8, "unexpected 1"),
    ('{"a": [1, 2}', 1, 12, "} where ] must stand"),
    ('{"a": 1 ]', 1, 9, "unexpected ]"),
    ('{"a": "\\x"}', 1, 8, "invalid escape \\x"),
    ('{"a": "\t"}', 1, 8, "control character U+0009"),
    ('{"a": }', 1, 7, "a value is missing"),
    ('{"a": 1,, "b": 2}', 1, 9, "a comma with nothing before it"),
    ("{{ x }}", 1, 1, "template"),
    ("[" * 20000, 1, 1, "nested too deeply"),
    ('{"a": ' + "1" * 5000 + "}", 1, 1, "too long"),
]


@pytest.mark.parametrize(("text", "line", "column", "cause"), FAULTS)
def test_load_says_which_fault_it_is_and_where(text: str, line: int, column: int, cause: str) -> None:
    with pytest.raises(ParseFault) as caught:
        load(text, "/etc/docker/daemon.json")
    fault = caught.value
    assert cause in fault.message
    assert fault.message.startswith(f"cannot read /etc/docker/daemon.json: line {line}, column {column}: ")
    assert (fault.path, fault.line, fault.column) == ("/etc/docker/daemon.json", line, column)
    assert fault.hint.endswith("Nothing was changed.")


def test_load_gives_what_the_json_module_gives() -> None:
    text = '{"a": [1, 2.5, "\\u00e9", null, true], "big": 12345678901234567890, "a": {}}'
    assert load(text, "f") == json.loads(text)


def test_duplicates_are_reported_at_any_depth() -> None:
    text = '{"a": 1,\n "b": {"c": 1, "c": 2},\n "l": [{"x": 1, "x": 2}],\n "\\u0061": 2, "a": 3}'
    assert duplicates(text) == [
        (("b", "c"), 2, 16),
        (("l", "0", "x"), 3, 17),
        (("a",), 4, 2),
        (("a",), 4, 15),
    ]
    assert duplicates('{"a": {"a": 1}}') == []


# text, key, value, expected
SET = [
    # the file's own indentation, colon, line end and final newline
    (
        '{\n  "a": 1\n}\n',
        RUNTIME,
        ENTRY,
        '{\n  "a": 1,\n  "runtimes": {\n    "nvidia": {\n      "args": [],\n      "path": "/n"\n    }\n  }\n}\n',
    ),
    ('{\n\t"a" : 1\n}', RUNTIME, {}, '{\n\t"a" : 1,\n\t"runtimes" : {\n\t\t"nvidia" : {}\n\t}\n}'),
    (
        '{\r\n   "a": 1\r\n}\r\n',
        RUNTIME,
        1,
        '{\r\n   "a": 1,\r\n   "runtimes": {\r\n      "nvidia": 1\r\n   }\r\n}\r\n',
    ),
    # an empty object is opened
    ("{}\n", ("a",), 1, '{\n    "a": 1\n}\n'),
    ("{ }", ("a",), True, '{\n    "a": true\n}'),
    ('{\n  "x": [],\n  "runtimes": {}\n}', ("runtimes", "n"), 1, '{\n  "x": [],\n  "runtimes": {\n    "n": 1\n  }\n}'),
    ('{\n  "runtimes":\n  {\n  }\n}', ("runtimes", "n"), 1, '{\n  "runtimes":\n  {\n    "n": 1\n  }\n}'),
    # one line stays one line
    ('{"a":1}', RUNTIME, ENTRY, '{"a":1,"runtimes":{"nvidia":{"args":[],"path":"/n"}}}'),
    ('{"a": 1}', RUNTIME, ENTRY, '{"a": 1, "runtimes": {"nvidia": {"args": [], "path": "/n"}}}'),
    ('{ "a": 1 }', ("b", "c"), 2, '{ "a": 1, "b": { "c": 2 } }'),
    ('{"a": {}}', ("a", "b"), 2, '{"a": {"b": 2}}'),
    # siblings on one line in a file of many lines
    (
        '{\n  "runtimes": {\n    "kata": { "path": "/k" }\n  }\n}',
        RUNTIME,
        ENTRY,
        '{\n  "runtimes": {\n    "kata": { "path": "/k" },\n    "nvidia": { "args": [], "path": "/n" }\n  }\n}',
    ),
    (
        '{\n  "log-opts": {"max-size": "1m"}\n}',
        RUNTIME,
        {"path": "/n"},
        '{\n  "log-opts": {"max-size": "1m"},\n  "runtimes": {\n    "nvidia": {\n      "path": "/n"\n    }\n  }\n}',
    ),
    ('{\n  "log": {"a": 1}\n}', ("features", "cdi"), True, '{\n  "log": {"a": 1},\n  "features": {"cdi": true}\n}'),
    # odd layouts
    ('{\n    "a": 1\n  , "b": 2\n}', ("c",), {"d": 1}, '{\n    "a": 1\n  , "b": 2\n  , "c": {\n    "d": 1\n  }\n}'),
    ('{\n  "a": 1,\n\n\n  "b": 2\n\n}', ("c",), 3, '{\n  "a": 1,\n\n\n  "b": 2,\n  "c": 3\n\n}'),
    ('{\n"a": 1\n}', ("c",), {"d": 1}, '{\n"a": 1,\n"c": {\n    "d": 1\n}\n}'),
    ('{"a": 1\n}', ("b",), 2, '{"a": 1, "b": 2\n}'),
    ('{ "a": 1,\n  "b": 2 }', ("c",), 3, '{ "a": 1,\n  "b": 2,\n  "c": 3 }'),
    ('{"a":\n1,\n"b":\n2}', ("c",), 3, '{"a":\n1,\n"b":\n2,\n"c": 3}'),
    ('\n\n {\n  "a": 1}', ("b",), 2, '\n\n {\n  "a": 1,\n  "b": 2}'),
    # only the value's token is replaced
    ('{"a" :  "old" , "b": 1}', ("a",), "new", '{"a" :  "new" , "b": 1}'),
    (
        '{"n": 1e21, "a": {"b": false}, "s": "<&>\\u00e9"}',
        ("a", "b"),
        True,
        '{"n": 1e21, "a": {"b": true}, "s": "<&>\\u00e9"}',
    ),
    ('{"a": 1, "b": 2}', ("a",), {"c": 3}, '{"a": {"c": 3}, "b": 2}'),
    # strings are written as they are
    ("{}", ("a",), "é<&>\\\"", '{\n    "a": "é<&>\\\\\\""\n}'),
    # types count: true is not 1, "1" is not 1
    ('{"a": 1}', ("a",), True, '{"a": true}'),
    ('{"a": 1}', ("a",), "1", '{"a": "1"}'),
    ('{"a": 1}', ("a",), 1.0, '{"a": 1.0}'),
    # a repeated key elsewhere
    ('{"x": 1, "x": 2}', ("a",), 1, '{"x": 1, "x": 2, "a": 1}'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "key", "value", "expected"), SET)
def test_set_member_writes_in_the_files_own_style(
    text: str, key: tuple[str, ...], value: object, expected: str
) -> None:
    after = set_member(text, key, value)
    assert after == expected
    assert set_member(after, key, value) == after


EQUAL = [
    ('{"p": "\\u002fusr\\/bin"}', ("p",), "/usr/bin"),
    ('{ "\\u0070" : [ 1 , { "x" : null } ] }', ("p",), [1, {"x": None}]),
    ('{"p": {"b": 1, "a": 2}}', ("p",), {"b": 1, "a": 2}),
]


@pytest.mark.parametrize(("text", "key", "value"), EQUAL)
def test_set_member_returns_the_same_text_for_an_equal_value(text: str, key: tuple[str, ...], value: object) -> None:
    assert set_member(text, key, value) is text


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ('{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}', ("a",), '{\n  "b": 2,\n  "c": 3\n}'),
        ('{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}', ("b",), '{\n  "a": 1,\n  "c": 3\n}'),
        ('{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}', ("c",), '{\n  "a": 1,\n  "b": 2\n}'),
        ('{\n    "a": 1\n  , "b": 2\n}', ("b",), '{\n    "a": 1\n}'),
        ('{ "a": 1 }', ("a",), "{}"),
        ('{"x": {\n  "a": {"y": 1}\n}}', ("x", "a"), '{"x": {}}'),
    ],
)
def test_remove_member_takes_its_comma_along(text: str, key: tuple[str, ...], expected: str) -> None:
    assert remove_member(text, key) == expected


@pytest.mark.parametrize("key", [("z",), ("a", "z"), ("z", "a")])
def test_remove_member_leaves_a_text_without_it_alone(key: tuple[str, ...]) -> None:
    text = '{"a": {"b": 1}}'
    assert remove_member(text, key) is text


def _inserted_key(text: str, key: tuple[str, ...]) -> tuple[str, ...]:
    """The first part of `key` that is missing in the text, () if all is there."""
    return next((key[:depth] for depth in range(1, len(key) + 1) if raw_value(text, key[:depth]) is None), ())


# Blanks inside an empty object are not kept: they are given back from the earlier text.
INSERTED = [
    (text, _inserted_key(text, key), expected)
    for text, key, _, expected in SET
    if _inserted_key(text, key) and (raw_value(text, _inserted_key(text, key)[:-1]) or "").strip("{} \n") != ""
]


@pytest.mark.parametrize(("text", "key", "expected"), INSERTED)
def test_remove_member_is_the_inverse_of_an_insertion(text: str, key: tuple[str, ...], expected: str) -> None:
    assert remove_member(expected, key) == text


def test_removing_the_only_member_leaves_an_empty_object() -> None:
    assert remove_member(set_member("{}\n", ("a", "b"), 1), ("a",)) == "{}\n"
    assert remove_member('{"a": {\n "b": 1\n}}', ("a", "b")) == '{"a": {}}'


@pytest.mark.parametrize("edit", [lambda t: set_member(t, ("a", "x"), 1), lambda t: remove_member(t, ("a", "x"))])
def test_edits_through_a_repeated_key_name_both_places(edit: object) -> None:
    assert callable(edit)
    with pytest.raises(ParseFault) as caught:
        edit('{\n "a": {},\n "b": 1,\n  "a": {}\n}')
    assert "a is there twice, the first time in line 2, column 2" in caught.value.message
    assert (caught.value.line, caught.value.column) == (4, 3)


@pytest.mark.parametrize(
    ("text", "key", "phrase", "line", "column"),
    [
        ("[1]", ("a",), "the top level must be an object, not an array", 1, 1),
        ("\n null", ("a",), "the top level must be an object, not null", 2, 2),
        ('"x"', ("a",), "the top level must be an object, not a string", 1, 1),
        ("5", ("a",), "the top level must be an object, not a number", 1, 1),
        ('{"a": {"b":\n  false}}', ("a", "b", "c"), "a.b must be an object, not a boolean", 2, 3),
    ],
)
def test_set_member_refuses_something_else_than_an_object_on_the_way(
    text: str, key: tuple[str, ...], phrase: str, line: int, column: int
) -> None:
    with pytest.raises(ParseFault) as caught:
        set_member(text, key, 1, path="/f")
    assert phrase in caught.value.message
    assert (caught.value.path, caught.value.line, caught.value.column) == ("/f", line, column)


def test_raw_values_go_back_as_they_were_written() -> None:
    before = '{\n  "a": { "x" : 1e3,\n\t"y":"\\u00e9" },\n  "b": 1\n}'
    token = raw_value(before, ("a",))
    assert token == '{ "x" : 1e3,\n\t"y":"\\u00e9" }'
    changed = set_member(before, ("a",), {"z": 1})
    assert set_raw_value(changed, ("a",), token) == before
    assert set_raw_value(before, ("a",), token) is before
    assert set_raw_value('{"b": 1}', ("a",), "1e3") == '{"b": 1, "a": 1e3}'
    assert raw_value(before, ("z",)) is None
    assert raw_value(f" {before}\n", ()) == before


def test_position_of_is_that_of_the_key() -> None:
    text = '{\n  "a": {\n    "b": 1 } }'
    assert position_of(text, ("a", "b")) == (3, 5)
    assert position_of(text, ("a",)) == (2, 3)
    assert position_of(text, ()) == (1, 1)
    assert position_of(text, ("a", "c")) is None
