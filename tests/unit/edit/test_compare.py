"""Comparison of parsed configurations: types, missing keys, and which paths an edit may touch."""

import datetime
import json
import math

import pytest

from ctk.edit.compare import MISSING, Path, edited_only, is_equal, lookup, plain

NOON = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
SAME = [
    (1, 1),
    ("a", "a"),
    (math.nan, math.nan),
    ([1, {"a": None}], [1, {"a": None}]),
    (NOON, NOON),
    (MISSING, MISSING),
]
DIFFERENT = [
    (1, True),
    (1, 1.0),
    (0.0, -0.0),
    ("1", 1),
    ([1], [1, 1]),
    ({"a": 1}, {"a": 1, "b": 2}),
    (None, MISSING),
    (NOON, NOON.astimezone(datetime.timezone(datetime.timedelta(hours=1)))),
    (NOON.date(), NOON),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_equal_values_are_equal(left: object, right: object) -> None:
    assert is_equal(left, right)


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_other_types_and_other_values_differ(left: object, right: object) -> None:
    assert not is_equal(left, right)


def test_lookup_keeps_null_and_missing_apart() -> None:
    data = json.loads('{"a": {"b": null}, "c": 1}')
    assert lookup(data, ("a", "b")) is None
    assert lookup(data, ("a", "x")) is MISSING
    assert lookup(data, ("c", "x")) is MISSING
    assert lookup(data, ()) == data


def test_plain_gives_the_types_of_a_parser() -> None:
    assert is_equal(plain({"a": (1, ("b",)), "c": {"d": b"e"}}), {"a": [1, ["b"]], "c": {"d": b"e"}})


EDITS: dict[str, tuple[dict[str, object], dict[str, object], tuple[Path, ...], tuple[Path, ...]]] = {
    "nothing": ({"a": 1}, {"a": 1}, (), ()),
    "owned": ({"a": 1}, {"a": 2}, (("a",),), ()),
    "foreign": ({"a": 1, "b": {"c": 1}}, {"a": 2, "b": {"c": 2}}, (("a",),), (("b", "c"),)),
    "below-owned": ({"a": {"b": 1}}, {"a": {"b": 2, "c": 3}}, (("a",),), ()),
    "beside-owned": ({"a": {"b": 1}}, {"a": {"b": 2, "c": 3}}, (("a", "b"),), (("a", "c"),)),
    "parents-come-with-it": ({}, {"a": {"b": {"c": 1}}}, (("a", "b", "c"),), ()),
    "parents-go-with-it": ({"a": {"b": {"c": 1}}}, {}, (("a", "b", "c"),), ()),
    "an-empty-table-is-a-difference": ({}, {"a": {}}, (("a", "b"),), (("a",),)),
    "null-is-not-missing": ({"a": None}, {}, (), (("a",),)),
    "a-value-for-a-table": ({"a": {"b": 1}}, {"a": 1}, (("a", "b"),), (("a",),)),
    "order-of-keys-is-free": ({"a": 1, "b": 2}, {"b": 2, "a": 1}, (), ()),
    "order-of-elements-is-not": ({"a": [1, 2]}, {"a": [2, 1]}, (), (("a",),)),
}


@pytest.mark.parametrize("case", EDITS)
def test_edited_only_names_the_foreign_paths(case: str) -> None:
    before, after, owned, expected = EDITS[case]
    assert edited_only(before, after, owned) == expected
