"""Unit files, quoting, variables and environment files are understood as systemd documents them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctk.host.unit_text import (
    Assignment,
    Variable,
    Word,
    expand_specifiers,
    expand_variables,
    parse_environment,
    parse_environment_file,
    parse_unit,
    parse_words,
    strip_prefixes,
)


def test_assignments_keep_section_and_line() -> None:
    text = "# comment\n[Unit]\nDescription = A b\n; other\n\n[Service]\nExecStart=/bin/x -a\nno assignment\n"
    assert parse_unit(text) == (
        Assignment("Unit", "Description", "A b", (3,)),
        Assignment("Service", "ExecStart", "/bin/x -a", (7,)),
    )


def test_continued_line_keeps_the_number_of_each_part() -> None:
    text = "[Service]\nExecStart=/bin/x \\\n  --one \\\n# a comment inside\n  --two\nType=notify\n"
    found = parse_unit(text)
    assert found[0] == Assignment("Service", "ExecStart", "/bin/x \n  --one \n  --two", (2, 3, 5))
    assert found[1] == Assignment("Service", "Type", "notify", (6,))
    assert parse_words(found[0].value, found[0].lines) == (("/bin/x", 2), ("--one", 3), ("--two", 5))


def test_value_that_starts_on_the_next_line_keeps_its_number() -> None:
    found = parse_unit("[Service]\nExecStart=\\\n/bin/x a\n")
    assert parse_words(found[0].value, found[0].lines) == (("/bin/x", 3), ("a", 3))


def test_windows_line_ends_and_a_last_line_without_an_end() -> None:
    assert parse_unit("[Service]\r\nExecStart=/bin/x \\\r\n -a") == (
        Assignment("Service", "ExecStart", "/bin/x \n -a", (2, 3)),
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", []),
        ("   ", []),
        ("a b\tc", ["a", "b", "c"]),
        ('"a b" c', ["a b", "c"]),
        ("'a \"b\"' c", ['a "b"', "c"]),
        ('--x="a b"', ["--x=a b"]),
        (r"a\x20b \101 \u00e9 \U0001F600", ["a b", "A", "é", "😀"]),
        (r"a\nb \s \\ \"", ["a\nb", " ", "\\", '"']),
        (r"\q \x4 \18", ["\\q", "\\x4", "\\18"]),
        ('""', [""]),
        ('"unfinished word', ["unfinished word"]),
        ("end\\", ["end\\"]),
    ],
)
def test_words_are_split_and_unquoted(value: str, words: list[str]) -> None:
    assert [word for word, _ in parse_words(value, (1,))] == words


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n\r\0"))))
def test_quoted_words_come_back(words: list[str]) -> None:
    quoted = ['"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in words]
    assert [word for word, _ in parse_words(" ".join(quoted), (1,))] == words


@given(st.text())
def test_no_text_breaks_the_parsers(text: str) -> None:
    lines = text.count("\n") + 1
    for item in parse_unit(text):
        assert all(1 <= number <= lines for number in item.lines)
        assert all(line in item.lines for _, line in parse_words(item.value, item.lines))
    assert all(1 <= line <= lines for _, _, line in parse_environment_file(text))


ENVIRONMENT = {
    "OPTS": Variable("--a 'b c'  --d", "/etc/default/x", 2),
    "ONE": Variable("1 2", "/etc/default/x", 3),
    "EMPTY": Variable("", "/etc/default/x", 4),
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("$OPTS", ["--a", "b c", "--d"]),
        ("${OPTS}", ["--a 'b c'  --d"]),
        ("--x=${ONE}/y", ["--x=1 2/y"]),
        ("--x=$ONE", ["--x=$ONE"]),
        ("$EMPTY", []),
        ("${EMPTY}", [""]),
        ("$UNSET", []),
        ("a${UNSET}b", ["ab"]),
        ("$$HOME", ["$HOME"]),
        ("${un closed", ["${un closed"]),
        ("$", ["$"]),
        ("${}", ["${}"]),
    ],
)
def test_variables_are_expanded_by_systemds_rules(text: str, words: list[str]) -> None:
    assert [word.text for word in expand_variables(Word(text, "/unit", 9), ENVIRONMENT)] == words


def test_words_of_a_variable_come_from_where_it_is_set() -> None:
    assert expand_variables(Word("$OPTS", "/unit", 9), ENVIRONMENT)[0] == Word("--a", "/etc/default/x", 2)
    assert expand_variables(Word("${ONE}", "/unit", 9), ENVIRONMENT) == (Word("1 2", "/etc/default/x", 3),)
    assert expand_variables(Word("--x=${ONE}", "/unit", 9), ENVIRONMENT) == (Word("--x=1 2", "/unit", 9),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("100%%", "100%"), ("%n", "docker.service"), ("%q%n", "%qdocker.service"), ("a%", "a%"), ("plain", "plain")],
)
def test_specifiers_are_expanded(text: str, expected: str) -> None:
    assert expand_specifiers(text, {"n": "docker.service"}) == expected


@pytest.mark.parametrize(
    ("start", "words", "has_variables"),
    [
        ("/bin/x a", ["/bin/x", "a"], True),
        ("-/bin/x a", ["/bin/x", "a"], True),
        ("@/bin/x name a", ["/bin/x", "a"], True),
        ("+:/bin/x $A", ["/bin/x", "$A"], False),
        ("!!/bin/x", ["/bin/x"], True),
        ("", [], True),
    ],
)
def test_signs_before_the_program_are_understood(start: str, words: list[str], has_variables: bool) -> None:
    given_words = tuple(Word(text, "/unit", 1) for text in start.split())
    found, expands = strip_prefixes(given_words)
    assert [word.text for word in found] == words
    assert expands is has_variables


def test_environment_assignments_are_words() -> None:
    value = "A=1 \"B=two words\" C= novalue 9X=1 D='q'"
    assert parse_environment(value, (7,)) == (("A", "1", 7), ("B", "two words", 7), ("C", "", 7), ("D", "q", 7))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=1\n", [("A", "1", 1)]),
        ("# A=0\n; B=0\n\nC = x y  \n", [("C", "x y", 4)]),
        ('A="x y  "\n', [("A", "x y  ", 1)]),
        ("A='x \"y\"'\n", [("A", 'x "y"', 1)]),
        ('A="x \\"y\\" \\n"\n', [("A", 'x "y" \\n', 1)]),
        ("A=one \\\n two\nB=2\n", [("A", "one  two", 1), ("B", "2", 3)]),
        ('A="one\ntwo"\nB=2\n', [("A", "one\ntwo", 1), ("B", "2", 3)]),
        ('A=a"b c"d\n', [("A", "ab cd", 1)]),
        ("A=\nB=b", [("A", "", 1), ("B", "b", 2)]),
        ("export A=1\nno assignment\n9=x\n", []),
        ("A=x\\ \n", [("A", "x ", 1)]),
        ("A=a#b # c\n", [("A", "a#b # c", 1)]),
    ],
)
def test_environment_file_is_read_as_systemd_reads_it(text: str, expected: list[tuple[str, str, int]]) -> None:
    assert list(parse_environment_file(text)) == expected
