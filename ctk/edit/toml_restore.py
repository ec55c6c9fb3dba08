"""Gives a key or table of TOML text back what it has in an earlier text; the caller proves the result."""

from collections.abc import Iterable
from typing import TypeVar

from ctk.edit import toml_layout as layout
from ctk.edit.compare import Path
from ctk.edit.toml_remove import take_out, without_member, without_section
from ctk.edit.toml_scan import Document, Member, ScanPath, Section, scan
from ctk.edit.toml_write import put_raw

Placed = TypeVar("Placed", Member, Section)


def restore(text: str, key: Path, original_text: str) -> str:
    """The text with `key` as it stands in original_text, where it is there.

    What the original does not have goes, what it has comes back in its lines, and lines that differ in nothing but
    comments or order stay as they are.
    """
    original = scan(original_text)
    if _forms(scan(text), key) != _forms(original, key):
        text = take_out(text, key)
    text = _without_surplus(text, key, original)
    for section in original.sections_under(key):
        if _same(scan(text).sections, section.path) is None:
            text = _with_section(scan(text), original, section)
    for member in _below(original, key):
        text = _with_member(scan(text), original, member)
    return text


def new_parents(original_text: str, key: Path) -> tuple[Path, ...]:
    """The parents of `key` that have no header, braces or dotted keys of their own in the original."""
    original = scan(original_text)
    parents = [key[:depth] for depth in range(1, len(key))]
    return tuple(
        path for path in parents if not (original.section(path) or original.member(path) or original.dotted(path))
    )


def _forms(document: Document, key: Path) -> tuple[bool, bool, bool]:
    """In which forms a key is written: as one key, by dotted keys, by headers."""
    own = document.member(key)
    return own is not None, bool(document.dotted(key)), bool(document.sections_under(key))


def _below(document: Document, key: Path) -> list[Member]:
    """The members that make up the key, not those in the braces of another that does."""
    found = [member for member in document.members() if member.path[: len(key)] == key]
    inside = {other for member in found for other in member.value.members}
    return [member for member in found if member not in inside]


def _same(things: Iterable[Placed], path: ScanPath) -> Placed | None:
    return next((thing for thing in things if thing.path == path), None)


def _without_surplus(text: str, key: Path, original: Document) -> str:
    """Without the keys, then the headers, that the original does not have."""
    members = {member.path for member in _below(original, key)}
    sections = {section.path for section in original.sections_under(key)}
    while True:
        document = scan(text)
        surplus_members = [member for member in _below(document, key) if member.path not in members]
        surplus_sections = [section for section in document.sections_under(key) if section.path not in sections]
        if surplus_sections:
            text = without_section(document, surplus_sections[-1])
        elif surplus_members:
            text = without_member(document, surplus_members[-1])
        else:
            return text


def _with_section(document: Document, original: Document, section: Section) -> str:
    """With the lines of a section, behind the section that stands before it in the original."""
    text, lines = document.text, original.text[section.line_start : section.end]
    previous = original.sections[section.number - 1]
    here = _same(document.sections, previous.path) or document.sections[-1]
    between = original.text[previous.end : section.line_start]
    if between and text.startswith(between, here.end):
        return _inserted(text, here.end + len(between), lines)
    position = layout.body_end(document, here)
    before, after = layout.gaps(document, position, section.keys)
    before = before and layout.is_blank_before(original.text, section.line_start)
    newline = layout.newline_at(text, position)
    ended = lines if lines.endswith("\n") else lines + newline
    return _inserted(text, position, f"{newline * before}{ended}{newline * after}")


def _inserted(text: str, position: int, lines: str) -> str:
    """With whole lines in between; a text without a final newline keeps none."""
    if position == len(text) and text and not text.endswith("\n"):
        return text + layout.newline_at(text, position) + lines.removesuffix("\n").removesuffix("\r")
    return text[:position] + (lines if lines.endswith("\n") else lines + "\n") + text[position:]


def _with_member(document: Document, original: Document, member: Member) -> str:
    from ctk.edit.toml import load

    text, raw = document.text, original.text[member.value.start : member.value.end]
    present = _same(document.members(), member.path)
    if present is not None:
        return text[: present.value.start] + raw + text[present.value.end :]
    line = _line_behind_its_neighbour(document, original, member)
    names = tuple(str(name) for name in member.path)
    return line if line is not None else put_raw(document, load(text), names, raw)


def _line_behind_its_neighbour(document: Document, original: Document, member: Member) -> str | None:
    """The text with the whole line, behind the line that it follows in the original; None if that is gone."""
    section = next((section for section in original.sections if member in section.members), None)
    here = None if section is None else _same(document.sections, section.path)
    if section is None or here is None:
        return None
    earlier = section.members[: section.members.index(member)]
    neighbour = _same(here.members, earlier[-1].path) if earlier else None
    before = earlier[-1].line_end if earlier else section.line_end
    between = original.text[before : member.line_start]
    position = neighbour.line_end if neighbour else here.line_end
    is_there = document.text.startswith(between, position)
    if neighbour is None and (earlier or not (here.number or is_there)):
        return None
    position += len(between) if is_there else 0
    return _inserted(document.text, position, original.text[member.line_start : member.line_end])
