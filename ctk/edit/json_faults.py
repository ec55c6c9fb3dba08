"""Says in people's words why a text is no JSON, and where; repairs nothing."""

import json
from typing import NamedTuple

from ctk.edit.json_scan import WHITESPACE, skip_whitespace
from ctk.edit.text import position
from ctk.errors import ParseFault

COMMENT_MARKS = ("//", "/*", "#")
CONSTANTS = ("NaN", "Infinity", "-Infinity")
WORDS = {"true": "true", "false": "false", "null": "null", "none": "null", "nil": "null", "yes": "true", "no": "false"}
PAIRS = {"{": "}", "[": "]"}


class _Fault(NamedTuple):
    """Offset, what is wrong there, and what to do."""

    offset: int
    cause: str
    advice: str


class _Context(NamedTuple):
    """The text before a fault: brackets still open and an unfinished string's start, as offsets."""

    opened: tuple[int, ...]
    string: int | None


def explain(text: str, path: str, error: Exception) -> ParseFault:
    """The error to show for what the `json` module said about `text`."""
    fault = _diagnose(text, error)
    line, column = position(text, fault.offset)
    return ParseFault(
        f"cannot read {path}: line {line}, column {column}: {fault.cause}",
        hint=f"{fault.advice} Nothing was changed.",
        path=path,
        line=line,
        column=column,
    )


def _diagnose(text: str, error: Exception) -> _Fault:
    start = skip_whitespace(text, 0)
    if start == len(text):
        return _Fault(0, "the file is empty", "Write {} into it, or remove it.")
    if text[start] == "<":
        return _Fault(start, "this is not JSON, it looks like HTML/XML", "Put the right file in its place.")
    if isinstance(error, RecursionError):
        return _Fault(start, "the values are nested too deeply", "Make the nesting flatter.")
    if not isinstance(error, json.JSONDecodeError):
        return _wrong_number(text, str(error))
    offset = skip_whitespace(text, min(error.pos, len(text)))
    return (
        _comment(text, offset)
        or _inside_string(text, error)
        or _extra(text, offset, error)
        or _end(text, offset)
        or _trailing_comma(text, offset, error)
        or _quotes(text, offset)
        or _by_message(text, offset, error)
        or _Fault(offset, f"invalid JSON: {error.msg}", "Correct the file at that place.")
    )


def _comment(text: str, offset: int) -> _Fault | None:
    mark = next((mark for mark in COMMENT_MARKS if text.startswith(mark, offset)), None)
    if mark is None:
        return None
    return _Fault(offset, f"a comment ({mark}): JSON has no comments", "Take the comment out.")


def _inside_string(text: str, error: json.JSONDecodeError) -> _Fault | None:
    if error.msg.startswith("Unterminated string"):
        return _Fault(error.pos, "unterminated string: its closing quote is missing", "Add the closing quote.")
    if error.msg.startswith("Invalid control character"):
        begin = _context(text, error.pos).string
        if text[error.pos] in "\r\n" and begin is not None:
            return _Fault(begin, "unterminated string: the line ends inside it", "Add the closing quote.")
        code = f"U+{ord(text[error.pos]):04X}"
        return _Fault(error.pos, f"control character {code} inside a string", "Write it as an escape such as \\t.")
    if error.msg.startswith("Invalid \\"):
        escape = text[error.pos : error.pos + 2]
        return _Fault(error.pos, f"invalid escape {escape} in a string", "Write a backslash as \\\\.")
    return None


def _extra(text: str, offset: int, error: json.JSONDecodeError) -> _Fault | None:
    if error.msg != "Extra data":
        return None
    end = len(text[:offset].rstrip(WHITESPACE)) - 1
    kind = {"}": "object", "]": "array"}.get(text[end], "value")
    line, _ = position(text, end)
    advice = "Take away what follows it."
    if kind != "value":
        advice = f"Line {line} closes the top-level {kind}: take away that bracket, or what follows it."
    return _Fault(offset, f"extra data after the top-level {kind}", advice)


def _end(text: str, offset: int) -> _Fault | None:
    if offset < len(text):
        return None
    opened = _context(text, offset).opened
    if not opened:
        return _Fault(offset, "the file ends too early", "Complete the file.")
    begin = opened[-1]
    kind = "object" if text[begin] == "{" else "array"
    line, column = position(text, begin)
    cause = f"unterminated {kind}: the one that begins in line {line}, column {column} is not closed"
    return _Fault(offset, cause, f"Add the missing {PAIRS[text[begin]]} or restore the rest of the file.")


def _trailing_comma(text: str, offset: int, error: json.JSONDecodeError) -> _Fault | None:
    before = text[:offset].rstrip(WHITESPACE)
    if text[offset] == "," and error.msg.startswith("Illegal trailing comma"):  # Python 3.13 stops at the comma
        return _Fault(offset, "trailing comma", "Take the comma away.")
    if text[offset] in "}]" and before.endswith(","):
        bracket = text[offset]
        return _Fault(len(before) - 1, f"trailing comma before {bracket}", "Take the comma away.")
    return None


def _quotes(text: str, offset: int) -> _Fault | None:
    if text[offset] == "'":
        return _Fault(offset, "single quotes: JSON strings have double quotes", "Write \" in place of '.")
    if text[offset] in "\u201c\u201d\u2018\u2019":
        return _Fault(offset, "typographic quotes: JSON strings have plain double quotes", 'Write " in their place.')
    return None


def _by_message(text: str, offset: int, error: json.JSONDecodeError) -> _Fault | None:
    if error.msg.startswith("Expecting ','"):
        return _expected_comma(text, offset)
    if error.msg.startswith("Expecting ':'"):
        return _Fault(offset, "missing colon after a key", 'Write "key": value.')
    if error.msg.startswith("Expecting property name"):
        return _expected_key(text, offset)
    if error.msg.startswith("Expecting value"):
        return _expected_value(text, offset)
    return None


def _expected_comma(text: str, offset: int) -> _Fault:
    character = text[offset]
    if text[offset - 1] not in WHITESPACE and character not in '"{[':
        opened = _context(text, offset).opened
        if character in "}]" and opened:
            wanted = PAIRS[text[opened[-1]]]
            return _Fault(offset, f"{character} where {wanted} must stand", f"Write {wanted}.")
        return _Fault(offset, f"unexpected {_word(text, offset)} after a value", "Correct the value before it.")
    if character in "}]:":
        return _Fault(offset, f"unexpected {character}", "Correct the brackets before it.")
    end = len(text[:offset].rstrip(WHITESPACE))
    line, column = position(text, end)
    cause = f"missing comma: one must stand after line {line}, column {column - 1}"
    return _Fault(offset, cause, f"Add a comma at the end of the value in line {line}.")


def _expected_key(text: str, offset: int) -> _Fault:
    if text[offset] == ",":
        return _Fault(offset, "a comma with nothing before it", "Take the comma away.")
    braces = text.find("{{", max(offset - 1, 0), offset + 2)
    if braces >= 0:
        return _Fault(braces, "a template expression ({{), not JSON", "Fill in the template.")
    word = _word(text, offset)
    return _Fault(offset, f"a key without double quotes: {word}", "Put every key into double quotes.")


def _expected_value(text: str, offset: int) -> _Fault:
    if text[offset] in ",}]:":
        return _Fault(offset, f"a value is missing before {text[offset]}", "Write the value, or take the key away.")
    word = _word(text, offset)
    meant = WORDS.get(word.lower())
    advice = f"Write {meant}." if meant else "Put strings into double quotes."
    return _Fault(offset, f"{word} is no JSON value", advice)


def _wrong_number(text: str, message: str) -> _Fault:
    """NaN and Infinity, which our parser names in its message, and whole numbers too long for it."""
    if message not in CONSTANTS:
        return _Fault(skip_whitespace(text, 0), "a number is too long", "Shorten it.")
    found = text.find(message)
    while _context(text, found).string is not None:  # the same letters inside a string
        found = text.find(message, found + 1)
    return _Fault(found, f"{message} is no JSON value", "Write a number, or null.")


def _word(text: str, offset: int) -> str:
    """The run of characters at `offset` up to the next blank or mark, at most 20."""
    end = offset + 1
    while end < min(len(text), offset + 20) and text[end] not in WHITESPACE + ',:{}[]"':
        end += 1
    return text[offset:end]


def _context(text: str, offset: int) -> _Context:
    """What is open just before `offset`."""
    opened: list[int] = []
    string: int | None = None
    index = 0
    while index < offset:
        character = text[index]
        if string is not None:
            if character == "\\":
                index += 1
            elif character == '"':
                string = None
        elif character == '"':
            string = index
        elif character in "{[":
            opened.append(index)
        elif character in "}]" and opened:
            opened.pop()
        index += 1
    return _Context(tuple(opened), string)
