"""Every key on every file: set, set again, unset, refused; and that nothing else in the file moves."""

import tomllib

import pytest

from ctk.edit.compare import edited_only, is_equal, lookup
from ctk.errors import ParseFault, UsageFault
from ctk.toolkit.document import HostDefaults, render_default, value_at
from ctk.toolkit.edits import edit_text, parse_assignment, parse_key
from tests.unit.toolkit.keys import FILES, KEYS, assignment, corpus

HOST = HostDefaults("@/sbin/ldconfig.real")
CELLS = [(name, key) for name in FILES for key in KEYS]


def set_in(text: str, *words: str, separator: str = ":") -> str:
    assignments = tuple(parse_assignment(word, separator) for word in words)
    return edit_text(text, "config.toml", assignments, HOST, lambda: None)[0]


def unset_in(text: str, key: str, original: str | None) -> str:
    return edit_text(text, "config.toml", (parse_key(key),), HOST, lambda: original)[0]


def lines_that_differ(before: str, after: str) -> tuple[list[str], list[str]]:
    old, new = before.splitlines(), after.splitlines()
    gone = [line for line in old if line not in new]
    return gone, [line for line in new if line not in old]


@pytest.mark.parametrize(("name", "key"), CELLS, ids=[f"{name}-{key}" for name, key in CELLS])
def test_set_set_again_and_unset(name: str, key: str) -> None:
    text, row, path = corpus(name), KEYS[key], tuple(key.split("."))
    before = tomllib.loads(text)
    changed = set_in(text, assignment(key, row.word))
    after = tomllib.loads(changed)
    assert is_equal(lookup(after, path), row.value)
    assert edited_only(before, after, (path,)) == ()
    assert set_in(changed, assignment(key, row.word)) == changed
    assert "crlf" not in name or changed.count("\n") == changed.count("\r\n")
    back = unset_in(changed, key, text)
    if value_at(before, path) is None:
        assert back == text
    else:
        assert value_at(tomllib.loads(back), path) is None
        assert edited_only(before, tomllib.loads(back), (path,)) == ()
    assert unset_in(back, key, text) == back


@pytest.mark.parametrize("key", KEYS)
def test_a_change_moves_one_line(key: str) -> None:
    """F55: another key's line, commented or not, is never touched; a table that is missing comes with its header."""
    for name in FILES:
        text = corpus(name)
        gone, new = lines_that_differ(text, set_in(text, assignment(key, KEYS[key].word)))
        assert len(gone) <= len(value_lines(text, key))
        assert len([line for line in new if line.strip() and not line.strip().startswith("[")]) <= 1


def value_lines(text: str, key: str) -> list[str]:
    """The lines of the key's value, or the one that is its comment."""
    from ctk.edit import toml

    raw = toml.raw_value(text, tuple(key.split(".")))
    return ["#"] if raw is None else raw.splitlines()


REFUSED = [(key, word) for key, row in KEYS.items() for word in row.refused]


@pytest.mark.parametrize(("key", "word"), REFUSED, ids=[assignment(key, word) for key, word in REFUSED])
def test_a_wrong_value_is_refused(key: str, word: str | None) -> None:
    for name in FILES:
        with pytest.raises(UsageFault) as fault:
            set_in(corpus(name), assignment(key, word))
        assert key in fault.value.message
        assert "Nothing was changed." in fault.value.hint


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("nvidia-container-runtime.mode", "auto, legacy, csv, cdi, jit-cdi"),
        ("nvidia-container-runtime.log-level", "trace, debug, info, warning, warn, error, fatal, panic"),
        ("nvidia-container-runtime.modes.legacy.cuda-compat-mode", "ldconfig, mount, disabled, hook"),
    ],
)
def test_f57_a_wrong_choice_names_the_right_ones(key: str, names: str) -> None:
    with pytest.raises(UsageFault, match=names):
        set_in(corpus("default.toml"), f"{key}=bogus")


ODD = [
    "a,b",
    "a:b",
    "/a # b",
    "#",
    'say "x"',
    "it's",
    " blanks  ",
    "back\\slash",
    "tab\there",
    "é ☃",
    "a=b",
    "'''",
    '"""',
]


@pytest.mark.parametrize("value", ODD)
def test_peer_faults_9_and_33_a_value_comes_out_as_it_went_in(value: str) -> None:
    """NVIDIA's toolkit takes blanks around "#" out of strings (9), and splits --set at commas (33)."""
    for name in FILES:
        text = set_in(corpus(name), f"swarm-resource={value}")
        assert tomllib.loads(text)["swarm-resource"] == value
        listed = set_in(text, f"nvidia-container-cli.environment=X={value}|Y=", separator="|")
        other = set_in(listed, "disable-require")  # and stays so when another key is edited
        for document in map(tomllib.loads, (listed, other)):
            assert document["nvidia-container-cli"]["environment"] == [f"X={value}", "Y="]


def test_peer_fault_9_a_scalar_in_a_tables_place_is_refused() -> None:
    text = "# site\nnvidia-container-cli = 5\n"
    with pytest.raises(ParseFault, match="line 2, column 1: nvidia-container-cli: it must be a table") as fault:
        set_in(text, "nvidia-container-cli.root=/x")
    assert (fault.value.path, fault.value.line, fault.value.column) == ("config.toml", 2, 1)


def test_f54_the_default_value_is_set_in_the_place_of_its_comment() -> None:
    text = corpus("default.toml")
    word = "nvidia-container-runtime.debug=/var/log/nvidia-container-runtime.log"
    changed = set_in(text, word)
    line = 'debug = "/var/log/nvidia-container-runtime.log"\n'
    assert changed == text.replace("#" + line, line)
    assert set_in(changed, word) == changed
    assert unset_in(changed, "nvidia-container-runtime.debug", None) == text


def test_a_list_can_be_empty_and_the_last_of_two_words_counts() -> None:
    text = set_in(corpus("hand-edited.toml"), "nvidia-container-cli.environment=")
    assert tomllib.loads(text)["nvidia-container-cli"]["environment"] == []
    text = set_in(text, "nvidia-container-runtime.mode=bogus", "nvidia-container-runtime.mode=csv")
    assert tomllib.loads(text)["nvidia-container-runtime"]["mode"] == "csv"


def test_a_feature_goes_with_nil() -> None:
    text = corpus("old-release.toml")
    changed = set_in(text, "features.disable-imex-channel-creation")
    back = edit_text(
        changed, "f", (parse_assignment("features.disable-imex-channel-creation=nil"),), HOST, lambda: text
    )
    assert back[0] == text
    assert parse_assignment("swarm-resource=nil").value == "nil"


def test_unknown_keys_are_refused_or_taken_as_they_are() -> None:
    for word in ("nvidia-container-runtime.mod=cdi", "disable-require.foo=1", "x", "a..b=1", "=1", ""):
        with pytest.raises(UsageFault):
            parse_assignment(word)
    assert parse_assignment("x.y=1", allow_unknown=True).value == "1"
    assert parse_assignment("x.y", allow_unknown=True).value is True
    assert parse_assignment("x.y=false", allow_unknown=True).value is False
    with pytest.raises(UsageFault, match="no key"):
        parse_assignment("a..b=1", allow_unknown=True)
    text = corpus("old-release.toml")
    changed = edit_text(text, "f", (parse_assignment("site.x=1 # 2", allow_unknown=True),), HOST, lambda: None)[0]
    assert tomllib.loads(changed)["site"] == {"x": "1 # 2"}
    assert edit_text(changed, "f", (parse_key("site.x", True),), HOST, lambda: text)[0] == text


def test_a_wrong_value_of_another_key_does_not_stand_in_the_way() -> None:
    text = corpus("default.toml").replace('mode = "auto"', 'mode = "bogus"')
    new, problems = edit_text(text, "f", (parse_assignment("disable-require"),), HOST, lambda: None)
    assert tomllib.loads(new)["disable-require"] is True
    assert [(item.key, item.is_error) for item in problems] == [("nvidia-container-runtime.mode", True)]
    assert "auto" in set_in(text, "nvidia-container-runtime.mode=auto")


def test_a_wrong_type_is_repaired_by_its_own_key_only() -> None:
    text = corpus("default.toml").replace("disable-require = false", 'disable-require = "no"')
    with pytest.raises(ParseFault, match="line 3, column 1: disable-require: it must be true or false"):
        set_in(text, "nvidia-container-runtime.mode=cdi")
    assert set_in(text, "disable-require=false") == corpus("default.toml")
    assert tomllib.loads(unset_in(text, "disable-require", None)).get("disable-require") is None


def test_f59_ldconfig_without_the_mark_needs_the_feature_and_is_told_of() -> None:
    words = ("nvidia-container-cli.ldconfig=/sbin/ldconfig", "features.allow-ldconfig-from-container")
    with pytest.raises(UsageFault, match="@/sbin/ldconfig"):
        set_in(corpus("default.toml"), words[0])
    assignments = tuple(map(parse_assignment, words))
    text, problems = edit_text(corpus("default.toml"), "f", assignments, HOST, lambda: None)
    assert [item.key for item in problems] == [
        "nvidia-container-cli.ldconfig",
        "features.allow-ldconfig-from-container",
    ]
    assert not any(item.is_error for item in problems)
    with pytest.raises(UsageFault, match=r"nvidia-container-cli\.ldconfig would then be wrong"):
        unset_in(text, "features.allow-ldconfig-from-container", None)
    old = corpus("default.toml").replace('"@/sbin/ldconfig.real"', '"/usr/sbin/ldconfig"')
    gone, new = lines_that_differ(old, set_in(old, "nvidia-container-cli.ldconfig=@/usr/sbin/ldconfig"))
    assert (gone, new) == (['ldconfig = "/usr/sbin/ldconfig"'], ['ldconfig = "@/usr/sbin/ldconfig"'])


def test_unset_goes_by_the_default_document_where_no_earlier_text_is_known() -> None:
    text = render_default(HOST)
    for key, row in KEYS.items():
        if value_at(tomllib.loads(text), tuple(key.split("."))) is None and not key.startswith(
            ("features.", "nvidia-container-runtime.modes")
        ):
            assert unset_in(set_in(text, assignment(key, row.word)), key, None) == text
    assert unset_in(set_in(text, "swarm-resource=X"), "swarm-resource", "not = [toml") == text


def test_a_dotted_key_leaves_no_comment_that_would_be_another_key() -> None:
    text = 'nvidia-container-cli.root = "/x"\r\nnvidia-container-cli.debug = "/y"\r\n'
    assert unset_in(text, "nvidia-container-cli.debug", None) == 'nvidia-container-cli.root = "/x"\r\n'
    inline = 'nvidia-container-runtime = { mode = "auto", "log-level"="info" } # c\n'
    changed = set_in(inline, "nvidia-container-runtime.mode=cdi", "nvidia-container-runtime.debug=/y")
    assert tomllib.loads(changed) == {"nvidia-container-runtime": {"mode": "cdi", "log-level": "info", "debug": "/y"}}
    assert changed.endswith(" # c\n")
    back = unset_in(changed, "nvidia-container-runtime.debug", None)
    assert tomllib.loads(back)["nvidia-container-runtime"] == {"mode": "cdi", "log-level": "info"}


def test_an_empty_file_and_one_without_a_final_line_end() -> None:
    assert set_in("", "nvidia-container-runtime.mode=cdi") == '[nvidia-container-runtime]\nmode = "cdi"\n'
    for text in ("", "# only a comment", "\n", "x = 1"):
        changed = set_in(text, "nvidia-container-runtime.mode=cdi")
        assert unset_in(changed, "nvidia-container-runtime.mode", text) == text
