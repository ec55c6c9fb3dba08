"""What a module's file says of itself is read from any of its shapes, and a broken one says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctk.formats.kernel_module import (
    ModuleSignature,
    parse_module_file,
    parse_module_values,
    parse_pkcs7_signer,
    read_signature,
)
from tests.module_files import MARK, VALUES, make_module, make_pkcs7, make_signature


def reader(content: bytes) -> tuple[object, int]:
    return (lambda offset, count: content[offset : offset + count]), len(content)


def test_values_of_an_unsigned_module() -> None:
    info = parse_module_file(*reader(make_module()))  # type: ignore[arg-type] # the pair is the two arguments
    assert info.values == VALUES
    assert info.signature is None


def test_signer_is_the_common_name_of_the_issuer() -> None:
    info = parse_module_file(*reader(make_module(signature=make_signature("Build key", b"\x0a\xff"))))  # type: ignore[arg-type] # the pair is the two arguments
    assert info.signature == ModuleSignature("Build key", "0aff")
    assert info.values == VALUES


def test_first_of_several_values_counts() -> None:
    assert parse_module_values(b"alias=a\0alias=b\0\0odd\0version=1\0") == {"alias": "a", "version": "1"}


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(make_signature(kind=1), id="another-kind"),
        pytest.param(b"\0" * 2 + b"\2" + b"\0" * 5 + (1 << 30).to_bytes(4, "big") + MARK, id="too-long"),
        pytest.param(b"garbage!" + b"\0\0\2\0\0\0\0\0" + (8).to_bytes(4, "big") + MARK, id="garbage"),
    ],
)
def test_signature_that_is_not_understood_is_still_one(tail: bytes) -> None:
    content = make_module() + tail
    assert read_signature(lambda offset, count: content[offset : offset + count], len(content)) == ModuleSignature()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no 64-bit"),
        (b"#!/bin/sh\n" * 20, "no 64-bit"),
        (make_module()[:-10], "cut short"),
        (make_module()[:64], "cut short"),
        (make_module()[:58] + b"\0" * 6, "no section table"),
    ],
)
def test_what_is_no_module_says_so(content: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_module_file(*reader(content))  # type: ignore[arg-type] # the pair is the two arguments


def test_signed_data_without_a_signer() -> None:
    message = make_pkcs7("x", b"\1")
    with pytest.raises((ValueError, IndexError)):
        parse_pkcs7_signer(message[: len(message) // 2])


SOUND = make_module(signature=make_signature())


@given(st.integers(0, len(SOUND) - 1), st.binary(min_size=1, max_size=8))
def test_damage_is_told_and_nothing_else_is_raised(place: int, damage: bytes) -> None:
    content = SOUND[:place] + damage + SOUND[place + len(damage) :]
    read: list[int] = []

    def read_part(offset: int, count: int) -> bytes:
        read.append(count)
        return content[offset : offset + count]

    try:
        info = parse_module_file(read_part, len(content))
    except ValueError:
        pass
    else:
        assert isinstance(info.values, dict)
    assert max(read) <= 4 << 20, "no damage makes it ask for more than the file's parts may hold"
