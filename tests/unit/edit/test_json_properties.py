"""Properties of the JSON editor over random documents: nothing foreign moves, every edit can be taken back."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctk.edit.compare import is_equal
from ctk.edit.json import Path, duplicates, load, position_of, raw_value, remove_member, set_member, set_raw_value
from ctk.errors import ParseFault
from tests.unit.edit.json_texts import GAPS, NAMES, leaves, texts

VALUES: st.SearchStrategy[object] = st.sampled_from((True, False, None, 1, -2.5, "x", 'é"\\', [], ["a"], {}, {"n": 1}))


@st.composite
def texts_and_keys(draw: st.DrawFn) -> tuple[str, Path]:
    """A document and a key with only objects on its way."""
    text = draw(texts())
    known = _object_keys(json.loads(text), ())
    above = draw(st.sampled_from(known))
    return text, (*above, *draw(st.lists(st.sampled_from((*NAMES, "new")), min_size=1, max_size=1)))


def _object_keys(value: object, key: Path) -> list[Path]:
    if not isinstance(value, dict):
        return []
    return [key, *(found for name, item in value.items() for found in _object_keys(item, (*key, name)))]


def _with(document: object, key: Path, value: object) -> object:
    changed = copy.deepcopy(document)
    place = changed
    for name in key[:-1]:
        assert isinstance(place, dict)
        place = place[name]
    assert isinstance(place, dict)
    place[key[-1]] = value
    return changed


@given(texts_and_keys(), VALUES)
def test_set_member_changes_what_was_asked_and_nothing_else(asked: tuple[str, Path], value: object) -> None:
    text, key = asked
    after = set_member(text, key, value)
    assert is_equal(json.loads(after), _with(json.loads(text), key, value))
    assert list(json.loads(after))[: len(json.loads(text))] == list(json.loads(text))
    assert set_member(after, key, value) == after


@given(texts_and_keys(), VALUES)
def test_an_insertion_can_be_taken_back_to_the_byte(asked: tuple[str, Path], value: object) -> None:
    text, key = asked
    above = raw_value(text, key[:-1])
    if raw_value(text, key) is not None:
        token = raw_value(text, key)
        assert token is not None
        assert set_raw_value(set_member(text, key, value), key, token) == text
    else:
        back = remove_member(set_member(text, key, value), key)
        if json.loads(above or "") == {} and len(key) > 1:  # the blanks inside an empty object are not kept
            assert above is not None
            back = set_raw_value(back, key[:-1], above)
        assert back == text or json.loads(text) == {}


@given(texts_and_keys())
def test_remove_member_changes_what_was_asked_and_nothing_else(asked: tuple[str, Path]) -> None:
    text, key = asked
    after = remove_member(text, key)
    marked = _with(json.loads(text), key, None)
    assert is_equal(_with(json.loads(after), key, None), marked)
    assert raw_value(after, key) is None
    assert remove_member(after, key) == after


@given(texts_and_keys())
def test_positions_point_at_the_key(asked: tuple[str, Path]) -> None:
    text, key = asked
    place = position_of(text, key)
    if place is None:
        assert raw_value(text, key) is None
    else:
        line = text.split("\n")[place[0] - 1]
        assert line[place[1] - 1 :].startswith('"' + key[-1].replace('"', '\\"') + '"')


@given(texts(), st.data())
def test_load_refuses_exactly_what_the_json_module_refuses(text: str, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 3))
    put = data.draw(st.sampled_from(("", ",", "}", "]", "{", '"', "'", "//", "#", "\\", "nul", "\x01", *GAPS)) | leaves)
    broken = text[:index] + put + text[index + length :]
    try:
        expected = json.loads(broken)
    except ValueError:
        with pytest.raises(ParseFault) as caught:
            load(broken, "/f")
        line, column = caught.value.line or 0, caught.value.column or 0
        assert 1 <= line <= broken.count("\n") + 1
        assert 1 <= column <= len(broken.split("\n")[line - 1]) + 1
    else:
        assert is_equal(load(broken, "/f"), expected)


@given(texts(), st.sampled_from(NAMES))
def test_a_document_without_repetitions_has_no_duplicates(text: str, name: str) -> None:
    assert duplicates(text) == []
    token = json.dumps(name, ensure_ascii=False)
    twice = f"{{{token}: 1, {token}: {text}}}"
    assert [key for key, _, _ in duplicates(twice)] == [(name,)]
