"""JSON without the package json: the same values, and an error wherever json has one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctk.inject.document import parse_document

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_every_document_is_read_as_json_reads_it(value: object, ascii_only: bool, indent: int | None) -> None:
    try:
        content = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    except UnicodeEncodeError:  # half a pair of surrogates is text in Python, and no UTF-8
        return
    assert parse_document(b"\xef\xbb\xbf" + content) == json.loads(content)
    assert parse_document(b" \n" + content + b"\r\n\t") == json.loads(content)


BROKEN = ["", " ", "{", "[1,", '{"a" 1}', "{} {}", "nul", "'a'", '{"a":}', '"a', "[1 2]", '"\\u12"', '"\n"']


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_document_is_an_error(text: str) -> None:
    for parse in (json.loads, parse_document):
        with pytest.raises(ValueError, match=r"."):
            parse(text.encode("utf-8"))


def test_other_encodings_and_endless_nesting_are_errors_too() -> None:
    for content in ('{"a":1}'.encode("utf-16"), b"\xff\xfe", b"[" * 1_000_000, b'{"a":' * 100_000):
        with pytest.raises(ValueError, match=r"."):
            parse_document(content)
