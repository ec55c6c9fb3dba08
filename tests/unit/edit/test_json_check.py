"""The second look at an edited text: nothing but the asked member may differ."""

import pytest

from ctk.edit.json_check import exact_tree, require_tree, tree_of, with_value, without_value
from ctk.errors import SelfCheckFault

BEFORE = '{"a": {"b": 1, "c": 1e3}, "d": [1]}'


def test_the_asked_member_may_differ() -> None:
    tree = exact_tree(BEFORE)
    require_tree('{"a":{"b":2,"c":1e3},"d":[1]}', with_value(tree, ("a", "b"), tree_of(2)), "/f")
    require_tree('{"a": {"b": 1, "c": 1e3}, "d": [1], "e": {"f": true}}', with_value(tree, ("e", "f"), True), "/f")
    require_tree('{"a": {"c": 1e3}, "d": [1]}', without_value(tree, ("a", "b")), "/f")


@pytest.mark.parametrize(
    "after",
    [
        '{"a": {"b": 2, "c": 1E3}, "d": [1]}',  # the same number in other words
        '{"a": {"b": 2, "c": 1e3}, "d": ["1"]}',
        '{"a": {"b": 2, "c": 1e3}, "d": [true]}',
        '{"a": {"b": 2, "c": 1e3}, "d": [1], "d": [1]}',
        '{"d": [1], "a": {"b": 2, "c": 1e3}}',  # another order
        '{"a": {"b": 2, "c": 1e3}}',
        '{"a": {"b": 2, "c": 1e3} "d": [1]}',
        '{"a": {"b": 2.0, "c": 1e3}, "d": [1]}',
    ],
)
def test_any_other_difference_is_called_a_bug_in_ctk(after: str) -> None:
    expected = with_value(exact_tree(BEFORE), ("a", "b"), tree_of(2))
    with pytest.raises(SelfCheckFault, match="bug in ctk") as caught:
        require_tree(after, expected, "/f")
    assert caught.value.path == "/f"
    assert "Nothing was changed" in caught.value.hint
