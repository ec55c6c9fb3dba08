"""The TOML editor on texts in every form TOML has: what comes out, and that removal takes back what insertion gave."""

import pytest

from ctk.edit.compare import Path
from ctk.edit.toml import add_table, load, remove, set_value
from ctk.errors import ParseFault

SET_CASES: dict[str, tuple[str, Path, object, str]] = {
    "replaces-only-the-token": ("a = 1 # one\n", ("a",), 2, "a = 2 # one\n"),
    "type-counts": ("a = 1\n", ("a",), True, "a = true\n"),
    "in-a-header-table": ("[t]\nx = 1\n[u]\nx = 1\n", ("u", "x"), 2, "[t]\nx = 1\n[u]\nx = 2\n"),
    "header-by-meaning": (
        '[ a . "b.c" ] # c\n\tx = 1\n',
        ("a", "b.c", "x"),
        "y",
        '[ a . "b.c" ] # c\n\tx = "y"\n',
    ),
    "escaped-header": ('["\\u0061"]\nx = 1\n', ("a", "x"), 2, '["\\u0061"]\nx = 2\n'),
    "dotted-key": ("[t]\na . 'b' = 1\n", ("t", "a", "b"), 2, "[t]\na . 'b' = 2\n"),
    "inline-table": (
        "t = { a = 1, b = { c = 'x' } } # k\n",
        ("t", "b", "c"),
        "y",
        't = { a = 1, b = { c = "y" } } # k\n',
    ),
    "multi-line-string-with-a-fake-header": (
        's = """\n[t]\nx = 1 # """\n[t]\nx = 1\n',
        ("t", "x"),
        2,
        's = """\n[t]\nx = 1 # """\n[t]\nx = 2\n',
    ),
    "multi-line-value-replaced": ("a = [\n  1, # one\n]\nb = 1\n", ("a",), [2], "a = [2]\nb = 1\n"),
    "new-key-behind-the-last-one": (
        "[t]\n  x = 1 # c\n\n# about u\n[u]\n",
        ("t", "y"),
        "z",
        '[t]\n  x = 1 # c\n  y = "z"\n\n# about u\n[u]\n',
    ),
    "new-key-in-an-empty-table": (
        "[t]\n\n# y = 1\n\n[u]\n  a=1\n",
        ("t", "y"),
        2,
        "[t]\n  y = 2\n\n# y = 1\n\n[u]\n  a=1\n",
    ),
    "new-key-keeps-crlf": ("[t]\r\nx=1\r\n[u]\r\n", ("t", "y"), 2, "[t]\r\nx=1\r\ny=2\r\n[u]\r\n"),
    "new-key-with-mixed-line-ends": ("[t]\r\nx = 1\n[u]\r\n", ("t", "y"), 2, "[t]\r\nx = 1\ny = 2\n[u]\r\n"),
    "new-key-without-final-newline": ("[t]\nx = 1", ("t", "y"), 2, "[t]\nx = 1\ny = 2"),
    "new-key-in-braces": ("t = { a = 1 }\n", ("t", "b"), 2, "t = { a = 1, b = 2 }\n"),
    "new-key-in-empty-braces": ("t = {}\n", ("t", "b"), 2, "t = {b = 2}\n"),
    "new-key-beside-dotted-siblings": ("a.b = 1\nz = 1\n", ("a", "c"), 2, "a.b = 1\na.c = 2\nz = 1\n"),
    "new-header-for-an-implied-table": (
        "[x]\na = 1\n\n# about t.s\n[t.s]\nb = 1\n",
        ("t", "c"),
        2,
        "[x]\na = 1\n\n[t]\nc = 2\n\n# about t.s\n[t.s]\nb = 1\n",
    ),
    "new-header-right-before-the-sub-tables-own-comment": (
        "[x]\na = 1\n\n# of nobody\n\n# about t.s\n[t.s]\n\n[y]\n",
        ("t", "c"),
        2,
        "[x]\na = 1\n\n# of nobody\n\n[t]\nc = 2\n\n# about t.s\n[t.s]\n\n[y]\n",
    ),
    "new-table-behind-a-comment-indented-like-the-key": (
        "[t.a]\n  x = 1\n  #y = 2\n# about u\n[u]\n",
        ("t", "b", "z"),
        1,
        "[t.a]\n  x = 1\n  #y = 2\n[t.b]\n  z = 1\n# about u\n[u]\n",
    ),
    "top-level-behind-version": ("# c\nversion = 2\n\n[t]\n", ("k",), 1, "# c\nversion = 2\nk = 1\n\n[t]\n"),
    "top-level-behind-the-comment-block": ("# c\n\n[t]\n", ("k",), 1, "# c\nk = 1\n\n[t]\n"),
    "top-level-before-a-header-with-its-comment": ("# t\n[t]\n", ("k",), 1, "k = 1\n\n# t\n[t]\n"),
    "top-level-in-an-empty-text": ("", ("k",), 1, "k = 1\n"),
    "top-level-in-a-comment": ("# c", ("k",), 1, "# c\nk = 1"),
    "new-table-with-the-key": ("version = 2\n", ("a", "b", "c"), 1, "version = 2\n\n[a.b]\nc = 1\n"),
}


@pytest.mark.parametrize("case", SET_CASES)
def test_set_value_writes(case: str) -> None:
    text, key, value, expected = SET_CASES[case]
    result = set_value(text, key, value)
    assert result == expected
    assert set_value(result, key, value) is result


CRI = ("plugins", "io.containerd.grpc.v1.cri", "containerd")
NVIDIA = {"runtime_type": "io.containerd.runc.v2", "options": {"BinaryName": "/bin/n", "SystemdCgroup": True}}
ADD_CASES: dict[str, tuple[str, Path, Path | None, str]] = {
    "behind-the-group-of-after": (
        "[r.runc]\n  a = 1\n  [r.runc.options]\n    b = 1\n[r.zeta]\n  c = 1\n# about x\n[x]\n",
        ("r", "nvidia"),
        ("r", "runc"),
        "[r.runc]\n  a = 1\n  [r.runc.options]\n    b = 1\n"
        '[r.nvidia]\n  runtime_type = "io.containerd.runc.v2"\n  [r.nvidia.options]\n    BinaryName = "/bin/n"\n'
        "    SystemdCgroup = true\n[r.zeta]\n  c = 1\n# about x\n[x]\n",
    ),
    "behind-the-last-sibling-single-quoted": (
        "[p.'io.x'.runc]\na='b'\n\n# about x\n[x]\n",
        ("p", "io.x", "nvidia"),
        None,
        "[p.'io.x'.runc]\na='b'\n\n[p.'io.x'.nvidia]\nruntime_type=\"io.containerd.runc.v2\"\n\n"
        "[p.'io.x'.nvidia.options]\nBinaryName=\"/bin/n\"\nSystemdCgroup=true\n\n# about x\n[x]\n",
    ),
    "into-the-only-inline-table": (
        "[p]\nruntimes = { runc = { a = 1 } }\n",
        ("p", "runtimes", "nvidia"),
        None,
        '[p]\nruntimes = { runc = { a = 1 }, nvidia = { runtime_type = "io.containerd.runc.v2", '
        'options = { BinaryName = "/bin/n", SystemdCgroup = true } } }\n',
    ),
    "beside-dotted-siblings": (
        "r.runc.a = 1\nr.zeta.a = 1\nz = 1\n",
        ("r", "nvidia"),
        ("r", "runc"),
        'r.runc.a = 1\nr.nvidia.runtime_type = "io.containerd.runc.v2"\nr.nvidia.options.BinaryName = "/bin/n"\n'
        "r.nvidia.options.SystemdCgroup = true\nr.zeta.a = 1\nz = 1\n",
    ),
    "at-the-end-without-final-newline": (
        "version = 2",
        ("n",),
        None,
        'version = 2\n\n[n]\nruntime_type = "io.containerd.runc.v2"\n\n[n.options]\nBinaryName = "/bin/n"\n'
        "SystemdCgroup = true",
    ),
}


@pytest.mark.parametrize("case", ADD_CASES)
def test_add_table_writes_and_remove_takes_back(case: str) -> None:
    text, table, after, expected = ADD_CASES[case]
    result = add_table(text, table, NVIDIA, after=after)
    assert result == expected
    assert add_table(result, table, NVIDIA, after=after) is result
    assert remove(result, table) == text


FAULTS: dict[str, tuple[str, int, int, str | None]] = {
    "key-twice": ("a = 1\nb = 2\na = 3\n", 3, 1, "the key a stands here a second time, the first one is in line 1"),
    "table-twice": (
        "[a.b]\n[c]\n  [a.'b']\n",
        3,
        3,
        "the table [a.b] stands here a second time, the first one is in line 1",
    ),
    "table-over-key": ("[a]\nx = 1\n[a.x]\n", 3, 1, "the table [a.x] cannot stand beside a.x in line 2"),
    "table-and-array-of-tables": ("[a]\n[[a]]\n", 2, 1, "the table [a] cannot stand beside a in line 1"),
    "table-over-dotted-keys": ("[a]\nb.c = 1\n[a.b]\n", 3, 1, "the table [a.b] cannot stand beside a.b.c in line 2"),
    "key-over-dotted-keys": ("a.b = 1\na = 2\n", 2, 1, "the key a cannot stand beside a.b in line 1"),
    "table-twice-behind-a-fake-one": (
        's = """\n[a]\n"""\n[a]\n[a]\n',
        5,
        1,
        "the table [a] stands here a second time, the first one is in line 4",
    ),
    "braces-twice": ("t = { a = 1, a = 2 }\n", 1, 19, "duplicate inline table key 'a'"),
    "template-in-a-value": ("a = 1\nb = {{ .X }}\n", 2, 5, "this is a Go template, not TOML"),
    "braces-in-a-comment-are-no-template": ("# {{ }}\na\n", 2, 2, "expected '=' after a key in a key/value pair"),
    "number-too-long": (f"a = {'1' * 5000}\n", 1, 1, None),
    "go-template": ("a = 1\n  {{- if .X }}\n", 2, 3, "this is a Go template, not TOML"),
    "html": ("\n<!DOCTYPE html>\n", 2, 1, "this is HTML or XML, not TOML"),
    "json": ('{"a": 1}', 1, 1, "this is JSON, not TOML"),
    "no-equals": ("a = 1\r\nb\r\n", 2, 2, "expected '=' after a key in a key/value pair"),
    "ends-too-early": ("a = [1,\n", 1, 8, "invalid value (the text ends too early)"),
    "too-deep": (f"a = {'[' * 5000}", 1, 1, "values are nested too deeply"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_load_says_where_and_why(case: str) -> None:
    text, line, column, cause = FAULTS[case]
    with pytest.raises(ParseFault) as caught:
        load(text, "/etc/c.toml")
    assert (caught.value.line, caught.value.column, caught.value.path) == (line, column, "/etc/c.toml")
    if cause is not None:  # else the words are those of the Python at hand
        assert caught.value.message == f"cannot read /etc/c.toml: line {line}, column {column}: {cause}"
