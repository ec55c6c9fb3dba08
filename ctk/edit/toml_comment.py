"""Turns a TOML key into a comment and a commented key back into a key; the caller proves the result."""

import re
import tomllib
from collections.abc import Iterator
from typing import NamedTuple

from ctk.edit.compare import Path, is_equal
from ctk.edit.toml_render import render_value
from ctk.edit.toml_scan import Document, Section, lines_of, scan

_COMMENTED = re.compile(r"([ \t]*)#([ \t]*)(?=[A-Za-z0-9_\"'-])")


class _CommentedKey(NamedTuple):
    """A line such as `#key = value`: its bounds without the line end, indentation, blanks behind the "#", and value."""

    start: int
    end: int
    indent: str
    blanks: str
    value: object


def comment_out(text: str, key: Path) -> str | None:
    """The text with the key's lines commented; None if it stands in braces, which have no lines."""
    document = scan(text)
    member = document.member(key)
    if member is None or member.line_start < 0:
        return None
    blanks = _usual_blanks(document)
    lines = lines_of(text[member.line_start : member.line_end])
    indent = text[member.line_start : member.start]
    commented = "".join(f"{indent}#{blanks}{line.removeprefix(indent)}" for line in lines)
    return text[: member.line_start] + commented + text[member.line_end :]


def comment_in(text: str, key: Path, value: object) -> str | None:
    """The text with the line `#key = ...` of the right table made a key with `value`; None if there is no such line."""
    document = scan(text)
    section = document.section(key[:-1])
    found = None if section is None else next(_commented_keys(document, section, key[-1]), None)
    if found is None:
        return None
    line = text[found.start + len(found.indent) + 1 + len(found.blanks) : found.end]
    if not is_equal(found.value, value):
        token = scan(line).sections[0].members[0].value
        line = line[: token.start] + render_value(value) + line[token.end :]
    return text[: found.start] + found.indent + line + text[found.end :]


def comment_as_in(text: str, key: Path, original_text: str) -> str | None:
    """The text with the key's line replaced by its commented line of the original; None if either is no single line."""
    document, original = scan(text), scan(original_text)
    member, section = document.member(key), original.section(key[:-1])
    found = None if section is None else next(_commented_keys(original, section, key[-1]), None)
    if found is None or member is None or member.line_start < 0:
        return None
    lines = lines_of(text[member.line_start : member.line_end])
    if len(lines) != 1:
        return None
    line_end = lines[0][len(lines[0].rstrip("\r\n")) :]
    return text[: member.line_start] + original_text[found.start : found.end] + line_end + text[member.line_end :]


def _usual_blanks(document: Document) -> str:
    """The blanks behind "#" in the first commented key of the text."""
    for section in document.sections:
        found = next(_commented_keys(document, section, None), None)
        if found is not None:
            return found.blanks
    return ""


def _commented_keys(document: Document, section: Section, name: str | None) -> Iterator[_CommentedKey]:
    """The commented keys between a header and the next one, of one name or of any."""
    position = section.line_end
    stops = [(member.line_start, member.line_end) for member in section.members]
    for start, end in [*stops, (document.next_start(section), 0)]:
        for line in lines_of(document.text[position:start]):
            found = _read(line, position)
            if found is not None and name in (None, found[0]):
                yield found[1]
            position += len(line)
        position = end


def _read(line: str, position: int) -> tuple[str, _CommentedKey] | None:
    match = _COMMENTED.match(line)
    if match is None or "=" not in line:
        return None
    body = line.rstrip("\r\n")
    try:
        data = tomllib.loads(body[match.end() :])
    except ValueError:
        return None
    name, value = next(iter(data.items()))
    return name, _CommentedKey(position, position + len(body), match[1], match[2], value)
