"""Properties over random files with comments: nothing foreign moves, and what was set can be taken back to the byte."""

import tomllib

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ctk.edit.compare import edited_only, is_equal, lookup
from ctk.errors import ParseFault
from ctk.toolkit.document import HostDefaults
from ctk.toolkit.edits import Assignment, edit_text
from ctk.toolkit.problems import check_document
from ctk.toolkit.settings import SETTINGS, Setting, Value, find_setting
from tests.unit.edit.toml_texts import texts
from tests.unit.toolkit.keys import KEYS, corpus

HOST = HostDefaults()
COMMENTS = st.sampled_from(
    [
        "# site",
        "",
        "  # [nvidia-container-cli]",
        "#",
        "# = 1",
        "#x",
        "\t",
        "# mode = 'cdi'",
        '#mode = "cdi" # why',
        "# é ☃",
    ]
)
SPELLINGS = st.sampled_from(
    ["{key} = {value}", "#{key} = {value}", "# {key} = {value}", "  {key}={value}  # {comment}"]
)


@st.composite
def files(draw: st.DrawFn) -> str:
    """A configuration as people have it: tables in any order, keys set, commented or missing, comments everywhere."""
    tables = sorted({row.path[:-1] for row in SETTINGS})
    chosen = draw(st.permutations(tables).flatmap(lambda order: st.integers(0, len(order)).map(lambda n: order[:n])))
    top = [table for table in chosen if not table] + [table for table in chosen if table]
    lines = []
    for table in top:
        if table:
            lines.append(draw(st.sampled_from(["[{}]", "  [{}]  # table", "[ {} ]"])).format(".".join(table)))
        lines += draw(_members(table))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join(lines) + (end if draw(st.booleans()) else "")


@st.composite
def _members(draw: st.DrawFn, table: tuple[str, ...]) -> list[str]:
    lines = draw(st.lists(COMMENTS, max_size=2))
    for row in (row for row in SETTINGS if row.path[:-1] == table):
        if draw(st.booleans()):
            value = _render(draw(st.just(KEYS[row.key].value)))
            line = draw(SPELLINGS).format(key=row.path[-1], value=value, comment="why")
            lines += [*draw(st.lists(COMMENTS, max_size=1)), line]
    if draw(st.integers(0, 3)) == 0:
        lines.append("site-key = 'unknown # to all'")
    return lines


def _render(value: object) -> str:
    from ctk.edit.toml_render import render_value

    return render_value(value)


@st.composite
def assignments(draw: st.DrawFn) -> tuple[Setting, Value]:
    """A key and a value it may have; any text at all where there is no rule."""
    key = draw(st.sampled_from(sorted(KEYS)))
    setting = find_setting(key)
    assert setting is not None
    if key == "nvidia-container-cli.environment":
        return setting, draw(st.lists(st.text(max_size=5).map(lambda text: f"A={text}"), max_size=3))
    if key == "swarm-resource":
        return setting, draw(st.text(max_size=12))
    value = KEYS[key].value
    assert isinstance(value, str | bool | list)
    return setting, value


def edit(text: str, setting: Setting, value: Value | None, original: str | None = None) -> str:
    return edit_text(text, "f", (Assignment(setting.path, value, setting),), HOST, lambda: original)[0]


def hold(text: str, setting: Setting, value: Value) -> None:
    """Foreign keys equal, the value as asked for, twice = once, and set then unset = nothing."""
    before = tomllib.loads(text)
    changed = edit(text, setting, value)
    after = tomllib.loads(changed)
    assert is_equal(lookup(after, setting.path), value)
    assert edited_only(before, after, (setting.path,)) == ()
    assert edit(changed, setting, value) == changed
    back = edit(changed, setting, None, text)
    assert edited_only(before, tomllib.loads(back), (setting.path,)) == ()
    if not isinstance(lookup(before, setting.path), str | bool | list):
        assert back == text


@given(files(), assignments())
@settings(max_examples=30)
def test_a_setting_comes_and_goes(text: str, chosen: tuple[Setting, Value]) -> None:
    hold(text, *chosen)


@pytest.mark.long
@given(files(), assignments())
@settings(settings.get_profile("long"))
def test_a_setting_comes_and_goes_in_more_files(text: str, chosen: tuple[Setting, Value]) -> None:
    hold(text, *chosen)


@given(texts(), assignments())
@settings(max_examples=20)
def test_a_setting_comes_and_goes_in_any_toml(text: str, chosen: tuple[Setting, Value]) -> None:
    """Files whose keys are all unknown, in every form TOML has."""
    assume(not any(item.blocks for item in check_document(text, tomllib.loads(text), HOST)))
    hold(text, *chosen)


@given(st.sampled_from(["hand-edited.toml", "old-release.toml"]), st.data())
@settings(max_examples=20)
def test_several_keys_at_once_are_the_same_as_one_by_one(name: str, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(assignments(), min_size=2, max_size=4, unique_by=lambda pair: pair[0].key))
    chosen = [pair for pair in chosen if pair[0].key != "nvidia-container-cli.ldconfig"]
    text = corpus(name)
    at_once = edit_text(
        text, "f", tuple(Assignment(row.path, value, row) for row, value in chosen), HOST, lambda: None
    )[0]
    for setting, value in chosen:
        text = edit(text, setting, value)
    assert at_once == text


@given(st.text(max_size=60), assignments())
@settings(max_examples=20)
def test_no_text_makes_it_fail_in_another_way(text: str, chosen: tuple[Setting, Value]) -> None:
    """What is no TOML is refused with its place; nothing else may be raised."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(ParseFault) as fault:
            edit(text, *chosen)
        assert fault.value.path == "f"
    else:
        hold(text, *chosen)
