"""Removal, arrays, raw values, restoring and commenting of TOML keys, in every form a key can be written in."""

import subprocess
import sys
import time
import tomllib

import pytest

from ctk.edit import toml
from ctk.edit.compare import Path
from ctk.errors import ParseFault, SelfCheckFault

REMOVE_CASES: dict[str, tuple[str, Path, str]] = {
    "not-there": ("[a]\nx = 1\n", ("a", "y"), "[a]\nx = 1\n"),
    "not-there-behind-a-value": ("a = 1\n", ("a", "y"), "a = 1\n"),
    "key-with-its-comment": ("x = 1 # one\n# two\ny = 2\n", ("x",), "# two\ny = 2\n"),
    "multi-line-key": ('x = """\n[a]\n"""\n[a]\nx = 1\n', ("x",), "[a]\nx = 1\n"),
    "table-and-sub-tables": ("[a]\n[b]\nx = 1\n[b.c]\n# in\ny = 1\n# out\n[d]\n", ("b",), "[a]\n# out\n[d]\n"),
    "table-spread-out": (
        "[b.c]\nx = 1\n\n[a]\ny = 1\n\n[b]\nz = 1\n\n# d\n[d]\n",
        ("b",),
        "[a]\ny = 1\n\n# d\n[d]\n",
    ),
    "implied-table": ("[a.b.c]\nx = 1\n[d]\n", ("a",), "[d]\n"),
    "dotted-keys": ("a.b.c = 1\nx = 1\na.b.d = 2\n", ("a", "b"), "x = 1\n"),
    "dotted-keys-and-headers": ("[a]\nb.c = 1\nx = 1\n[a.b.d]\ny = 1\n", ("a", "b"), "[a]\nx = 1\n"),
    "array-of-tables": ("[[a]]\nx = 1\n[a.b]\n[[a]]\n[c]\n", ("a",), "[c]\n"),
    "inline-first": ("t = { a = 1, b = 2 } # t\n", ("t", "a"), "t = { b = 2 } # t\n"),
    "inline-last": ("t = { a = 1 , b = 2 }\n", ("t", "b"), "t = { a = 1 }\n"),
    "inline-middle": ("t = {a=1,b=2,c=3}\n", ("t", "b"), "t = {a=1,c=3}\n"),
    "inline-only": ("t = { a = 1 }\n", ("t", "a"), "t = { }\n"),
    "inline-dotted": ("t = { a.x = 1, b = 2, a.y = 3 }\n", ("t", "a"), "t = { b = 2 }\n"),
    "last-table-without-final-newline": ("[a]\nx = 1\n\n[b]\ny = 1", ("b",), "[a]\nx = 1"),
    "crlf": ("[a]\r\nx = 1\r\n\r\n[b]\r\ny = 1\r\n\r\n[c]\r\n", ("b",), "[a]\r\nx = 1\r\n\r\n[c]\r\n"),
    "comment-above-the-header-stays": ("[a]\n\n# about b\n[b]\nx = 1\n\n[c]\n", ("b",), "[a]\n\n# about b\n\n[c]\n"),
    "comment-below-the-last-key-stays": ("[a]\n\n[b]\nx = 1\n# y = 2\n\n[c]\n", ("b",), "[a]\n\n# y = 2\n\n[c]\n"),
}


@pytest.mark.parametrize("case", REMOVE_CASES)
def test_remove_takes_the_key_and_leaves_the_rest(case: str) -> None:
    text, key, expected = REMOVE_CASES[case]
    assert toml.remove(text, key) == expected


def test_remove_returns_the_same_text_when_nothing_is_there() -> None:
    text = "[a]\nx = 1\n"
    assert toml.remove(text, ("a", "b", "c")) is text


def test_remove_prunes_only_the_parents_it_is_told_and_only_if_empty() -> None:
    text = "version = 2\n\n[a]\n\n[a.b]\nx = 1\n\n[c]\ny = 1\n"
    pruned = toml.remove(text, ("a", "b", "x"), empty_parents=(("a", "b"), ("c",)))
    assert pruned == "version = 2\n\n[a]\n\n[c]\ny = 1\n"
    assert toml.remove(text, ("a", "b", "x")) == "version = 2\n\n[a]\n\n[a.b]\n\n[c]\ny = 1\n"


ARRAY_CASES: dict[str, tuple[str, str]] = {
    "single-line": ("a = ['x']\n", "a = ['x', \"n\"]\n"),
    "single-line-with-blanks": ("a = [ 'x' ] # c\n", "a = [ 'x', \"n\" ] # c\n"),
    "single-line-trailing-comma": ("a = ['x',]\n", "a = ['x', \"n\",]\n"),
    "empty": ("a = []\n", 'a = ["n"]\n'),
    "empty-on-two-lines": ("a = [\n]\n", 'a = [\n  "n",\n]\n'),
    "empty-with-a-comment": ("  a = [ # c\n  ]\n", '  a = [ # c\n    "n",\n  ]\n'),
    "multi-line-trailing-comma": (
        "a = [\n\t'x', # x\n\t# end\n]\n",
        "a = [\n\t'x', # x\n\t\"n\",\n\t# end\n]\n",
    ),
    "multi-line-no-trailing-comma": ("a = [\r\n  'x' # x\r\n]\r\n", "a = [\r\n  'x', # x\r\n  \"n\"\r\n]\r\n"),
    "closing-bracket-on-the-last-line": ("a = [\n  'x',\n  'y']\n", "a = [\n  'x',\n  'y',\n  \"n\"]\n"),
    "several-on-one-line": ("a = [\n  'x', 'y',\n]\n", "a = [\n  'x', 'y', \"n\",\n]\n"),
    "leading-commas": ("a = [ 'x'\n    , 'y'\n    ]\n", "a = [ 'x'\n    , 'y', \"n\"\n    ]\n"),
    "nested": ("a = [\n  ['x', 1],\n  { b = ']' }\n]\n", "a = [\n  ['x', 1],\n  { b = ']' },\n  \"n\"\n]\n"),
    "multi-line-string-inside": ("a = [\n  '''\n#]\n''',\n]\n", "a = [\n  '''\n#]\n''',\n  \"n\",\n]\n"),
    "in-braces": ("t = { a = ['x'] }\n", "t = { a = ['x', \"n\"] }\n"),
}


@pytest.mark.parametrize("case", ARRAY_CASES)
def test_an_element_comes_into_an_array_and_goes_again(case: str) -> None:
    text, expected = ARRAY_CASES[case]
    key: Path = ("t", "a") if case == "in-braces" else ("a",)
    result = toml.append_to_array(text, key, "n")
    assert result == expected
    assert toml.append_to_array(result, key, "n") is result
    assert toml.remove_from_array(result, key, "n") == text


def test_append_makes_the_array_and_remove_needs_none() -> None:
    assert toml.append_to_array("version = 2\n", ("imports",), "/x") == 'version = 2\nimports = ["/x"]\n'
    assert toml.remove_from_array("version = 2\n", ("imports",), "/x") == "version = 2\n"


def test_remove_from_array_takes_every_equal_element_and_no_other_type() -> None:
    assert toml.remove_from_array("a = [1, true, 1.0, 1]\n", ("a",), 1) == "a = [true, 1.0]\n"
    assert toml.remove_from_array("a = [1]\n", ("a",), 1) == "a = []\n"


def test_append_refuses_an_array_of_tables() -> None:
    with pytest.raises(ParseFault, match="array of tables"):
        toml.append_to_array("[[a]]\nx = 1\n", ("a",), {"x": 2})


def test_raw_value_comes_back_as_it_was_written() -> None:
    text = "[t]\na = 0x1F # c\nb = [ 'x' ]\n"
    assert toml.raw_value(text, ("t", "a")) == "0x1F"
    assert toml.raw_value(text, ("t",)) is None
    assert toml.raw_value(text, ("t", "z")) is None
    changed = toml.set_value(text, ("t", "a"), "other")
    assert toml.set_raw_value(changed, ("t", "a"), "0x1F") == text
    assert toml.set_raw_value(text, ("t", "c"), "'y'") == "[t]\na = 0x1F # c\nb = [ 'x' ]\nc = 'y'\n"


@pytest.mark.parametrize("raw", ["1\nb = 2", "1 # c", "", "1 2"])
def test_set_raw_value_refuses_what_is_not_one_value(raw: str) -> None:
    with pytest.raises(ParseFault):
        toml.set_raw_value("a = 2\n", ("a",), raw)


RESTORE_CASES: dict[str, tuple[str, str, Path, str]] = {
    "value-as-written": ("a = 'x' # c\n", 'a = "y" # c\n', ("a",), "a = 'x' # c\n"),
    "other-lines-keep-todays-text": (
        "[a]\nx = 'one'\n[b]\n",
        '[a]\n# new\nx = "two"\nz = 3\n[b]\ny = 1\n',
        ("a", "x"),
        "[a]\n# new\nx = 'one'\nz = 3\n[b]\ny = 1\n",
    ),
    "table-that-was-removed": (
        "[a]\n\n# b\n[b]\nx = 0x1\n\n[c]\n",
        "[a]\n\n# b\n\n[c]\n",
        ("b",),
        "[a]\n\n# b\n[b]\nx = 0x1\n\n[c]\n",
    ),
    "key-that-was-removed": (
        "[a]\nx = 1\n  y = '2' # c\nz = 3\n",
        "[a]\nx = 1\nz = 3\n",
        ("a", "y"),
        "[a]\nx = 1\n  y = '2' # c\nz = 3\n",
    ),
    "table-that-was-not-there": ("[a.x]\n", "[a]\nn = 1\n\n[a.x]\n", ("a", "n"), "[a.x]\n"),
    "surplus-goes": (
        "[a]\nx = 1\n",
        "[a]\nx = 2\nn = 1\n\n[a.options]\ny = 1\n\n[b]\n",
        ("a",),
        "[a]\nx = 1\n\n[b]\n",
    ),
    "header-again-for-dotted-keys": ("[a]\nx = 1\n", "a.x = 2\n", ("a",), "[a]\nx = 1\n"),
    "dotted-keys-again-for-a-header": ("a.x = 1\n", "[a]\nx = 2\n", ("a",), "a.x = 1\n"),
    "braces-again-for-a-header": ("a = { x = 1 } # c\n", "[a]\nx = 2\n", ("a",), "a = { x = 1 } # c\n"),
    "other-form": ("[a]\nx = 1\n", "a = { x = 2 }\n", ("a",), "[a]\nx = 1\n"),
}


@pytest.mark.parametrize("case", RESTORE_CASES)
def test_restore_table_gives_back_what_was_written(case: str) -> None:
    original, text, key, expected = RESTORE_CASES[case]
    assert toml.restore_table(text, key, original) == expected


POSITIONS = {
    "key": ("a = 1\n  b = 2\n", ("b",), (2, 3)),
    "header": ("a = 1\n\n  [t.u]\n", ("t", "u"), (3, 3)),
    "implied": ("[t.u]\n", ("t",), (1, 1)),
    "dotted": ("x = 1\nt.u.v = 1\n", ("t", "u"), (2, 1)),
    "inline": ("t = { u = { v = 1 } }\n", ("t", "u", "v"), (1, 13)),
    "crlf": ('a = """\r\n"""\r\nb = 1\r\n', ("b",), (3, 1)),
    "missing": ("a = 1\n", ("b",), None),
}


@pytest.mark.parametrize("case", POSITIONS)
def test_position_of_counts_lines_and_columns_from_one(case: str) -> None:
    text, key, expected = POSITIONS[case]
    assert toml.position_of(text, key) == expected


COMMENT_CASES: dict[str, tuple[str, Path, object, str]] = {
    "same-value": ("[t]\n#a = 'x' # c\nb = 1\n", ("t", "a"), "x", "[t]\na = 'x' # c\nb = 1\n"),
    "other-value": ("[t]\n  # a = 'x' # c\n", ("t", "a"), 2, "[t]\n  a = 2 # c\n"),
    "top-level": ("# head\n#a = 1\n\n[t]\n#a = 2\n", ("a",), 1, "# head\na = 1\n\n[t]\n#a = 2\n"),
    "right-table": ("#a = 1\n[t]\n#a = 1\n[u]\n#a = 1\n", ("u", "a"), 1, "#a = 1\n[t]\n#a = 1\n[u]\na = 1\n"),
    "not-in-a-string": ('[t]\ns = """\n#a = 1\n"""\n', ("t", "a"), 1, '[t]\ns = """\n#a = 1\n"""\na = 1\n'),
    "no-such-comment": ("[t]\n# a is a key\n#ab = 1\n", ("t", "a"), 1, "[t]\na = 1\n# a is a key\n#ab = 1\n"),
    "there-already": ("[t]\n#a = 1\na = 2\n", ("t", "a"), 1, "[t]\n#a = 1\na = 1\n"),
    "crlf": ("[t]\r\n#a = 1\r\n", ("t", "a"), 1, "[t]\r\na = 1\r\n"),
}


@pytest.mark.parametrize("case", COMMENT_CASES)
def test_uncomment_key_uses_the_commented_line(case: str) -> None:
    text, key, value, expected = COMMENT_CASES[case]
    assert toml.uncomment_key(text, key, value) == expected


@pytest.mark.parametrize("case", ["same-value", "top-level", "right-table", "crlf"])
def test_comment_key_takes_uncomment_back(case: str) -> None:
    text, key, _, expected = COMMENT_CASES[case]
    assert toml.comment_key(expected, key) == text


def test_comment_key_comments_every_line_and_follows_the_files_hand() -> None:
    assert toml.comment_key("# x = 1\n  a = [\n  1,\n]\nb = 1", ("a",)) == "# x = 1\n  # a = [\n  # 1,\n  # ]\nb = 1"
    assert toml.comment_key("t = { a = 1, b = 2 }\n", ("t", "a")) == "t = { b = 2 }\n"
    assert toml.comment_key("b = 1\n", ("a",)) == "b = 1\n"


def test_merging_goes_key_by_key_and_touches_nothing_that_is_equal() -> None:
    text = "[r.n]\n  a = 'x' # ours\n  z = 1\n\n  [r.n.options]\n    b = 0x1\n\n[s]\n"
    result = toml.add_table(text, ("r", "n"), {"a": "x", "c": True, "options": {"b": 1, "d": "e"}, "sub": {"f": 1}})
    assert result == (
        "[r.n]\n  a = 'x' # ours\n  z = 1\n  c = true\n\n  [r.n.options]\n    b = 0x1\n    d = \"e\"\n\n"
        "  [r.n.sub]\n    f = 1\n\n[s]\n"
    )


def test_a_table_in_place_of_a_table_is_replaced_key_by_key() -> None:
    assert toml.set_value("[a]\nx = 1\ny = 2\n[b]\n", ("a",), {"y": 3}) == "[a]\ny = 3\n[b]\n"
    assert toml.set_value("a = { x = 1 }\n", ("a",), {"y": 3}) == "a = { y = 3 }\n"


@pytest.mark.parametrize(
    ("text", "key"),
    [("a = 1\n", ("a", "b")), ("[[a]]\nx = 1\n", ("a", "b")), ("[a]\nx = 1\n", ("a",)), ("a = [1]\n", ("a", "b", "c"))],
)
def test_a_value_in_the_way_is_a_fault_with_its_place(text: str, key: Path) -> None:
    with pytest.raises(ParseFault, match="is of another kind") as caught:
        toml.set_value(text, key, 1)
    assert (caught.value.line, caught.value.column) == (1, 1)


def test_adding_a_table_over_a_value_is_a_fault() -> None:
    with pytest.raises(ParseFault, match="cannot set a: line 1, column 1: a is of another kind"):
        toml.add_table("a = 1\n", ("a",), {"x": 1})


def test_null_has_no_place_in_toml() -> None:
    with pytest.raises(TypeError, match="TOML has no null"):
        toml.set_value("", ("a",), None)


def test_the_self_check_names_what_went_wrong() -> None:
    before: dict[str, object] = {"a": 1, "b": {"c": 2}}
    with pytest.raises(SelfCheckFault, match="the result is not TOML"):
        toml.checked(before, "a = ", ("a",), 1)
    with pytest.raises(SelfCheckFault, match="does not hold the value asked for"):
        toml.checked(before, "a = true\n[b]\nc = 2\n", ("a",), 1)
    with pytest.raises(SelfCheckFault, match=r"also changes b\.c, d"):
        toml.checked(before, "a = 1\nd = 1\n[b]\nc = 2.0\n", ("a",), 1)


def test_headers_may_be_very_deep() -> None:
    keys = tuple(f"k{number}" for number in range(200))
    text = f"[{'.'.join(keys)}]\nx = 1\n"
    result = toml.set_value(text, (*keys, "y"), 2)
    assert result == f"{text}y = 2\n"
    assert toml.remove(result, (*keys, "y")) == text


def test_values_nested_at_the_limit_are_edited_or_refused_but_never_crash() -> None:
    outcomes = set()
    for depth in range(100, 520, 7):
        text = f"a = {'[' * depth}{']' * depth}\n"
        try:
            outcomes.add(toml.set_value(text, ("b",), 1) == f"{text}b = 1\n")
        except ParseFault as fault:
            outcomes.add(fault.message.endswith("values are nested too deeply"))
    assert outcomes == {True}


BIG = "version = 2\n" + "".join(
    f'\n[plugins."io.x.v1.p{number}"]\n  a = "/opt/{number}" # c\n  b = [ "x", "y" ]\n  c = {number}\n'
    for number in range(50)
)


def test_an_edit_of_a_long_file_is_fast() -> None:
    key = ("plugins", "io.x.v1.p49", "sub", "d")
    best = 1.0
    for _ in range(5):
        start = time.perf_counter()
        toml.set_value(BIG, key, True)
        best = min(best, time.perf_counter() - start)
    assert best < 0.05  # usually 5 ms; the margin is for a busy machine


@pytest.mark.real
def test_reading_loads_neither_scanner_nor_tomlkit_and_a_plain_edit_no_tomlkit() -> None:
    code = (
        "import sys; from ctk.edit import toml; toml.load('a = 1'); print('ctk.edit.toml_scan' in sys.modules);"
        "toml.set_value('a = 1', ('b', 'c'), ['x', 1, True]); print('tomlkit' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("value", ['a"b', "a\\b", "tab\t", "é", "\x7f", "line\nbreak", "", "'", "\u2028"])
def test_every_text_is_rendered_so_that_it_reads_back(value: str) -> None:
    result = toml.set_value("", ("k", value), value)
    assert tomllib.loads(result) == {"k": {value: value}}
    assert toml.remove(result, ("k",)) == ""
