"""Gives a key or table of TOML text back the lines it has in an earlier text; the caller proves the result."""

from collections.abc import Mapping

from ctk.edit import toml_layout as layout
from ctk.edit.compare import Path
from ctk.edit.toml_remove import take_out, without_keys
from ctk.edit.toml_scan import Document, Member, Section, scan
from ctk.edit.toml_write import add, put_raw


def restore(text: str, key: Path, original_text: str, values: object) -> str:
    """The text with `key` as it stands in original_text, where it is there and has `values`."""
    original = scan(original_text)
    run = _only_run(original, key)
    members = _written(original, key)
    if run and not members:
        return _restore_run(text, key, original, run)
    if members and not original.sections_under(key):
        return _restore_members(text, key, original, members)
    return _rewrite(take_out(text, key), key, values)


def _only_run(document: Document, key: Path) -> list[Section]:
    """The sections of a table, if they stand together."""
    sections = document.sections_under(key)
    together = bool(sections) and sections[-1].number - sections[0].number == len(sections) - 1
    return sections if together else []


def _written(document: Document, key: Path) -> list[Member]:
    """The key itself, or the dotted keys that make the table, whose holder is not part of it."""
    depth = len(key)
    return [member for member in document.members() if member.path[:depth] == key and member.holder[:depth] != key]


def _rewrite(text: str, key: Path, values: object) -> str:
    """A table that is spread over the original, written anew in one place: value for value, not line for line."""
    from ctk.edit.toml import load

    if not isinstance(values, Mapping):
        raise TypeError("only a table is spread over a text")
    return add(text, load(text), key, values, None)


def _restore_run(text: str, key: Path, original: Document, run: list[Section]) -> str:
    block = original.text[run[0].line_start : run[-1].end]
    document = scan(text)
    present = _only_run(document, key)
    if present and not _written(document, key):
        return _replaced(text, present[0].line_start, present[-1].end, block)
    text = take_out(text, key)
    return _insert_run(scan(text), original, run[0], block)


def _replaced(text: str, start: int, end: int, block: str) -> str:
    """Lines for lines; whether the text ends with a newline stays as it is."""
    newline = layout.newline_at(block or text, len(block))
    if end < len(text) or text.endswith("\n"):
        block = block if block.endswith("\n") else block + newline
    else:
        block = block.removesuffix("\n").removesuffix("\r")
    return text[:start] + block + text[end:]


def _insert_run(document: Document, original: Document, first: Section, block: str) -> str:
    """Behind the section that stands before it in the original, and behind the comments they have between them."""
    previous = original.sections[first.number - 1]
    here = next((section for section in document.sections if section.path == previous.path), document.sections[-1])
    between = original.text[previous.end : first.line_start]
    lines = block.rstrip("\r\n").replace("\r\n", "\n").split("\n")
    if between and document.text.startswith(between, here.end):
        return _inserted(document.text, here.end + len(between), block)
    position = layout.body_end(document, here)
    gaps = layout.gaps(document, position, first.keys)
    before, after = ([""] if gap else [] for gap in gaps)
    if before or after or not document.text.endswith("\n"):
        return layout.insert_lines(document.text, position, [*before, *lines, *after])
    return _inserted(document.text, position, block)


def _inserted(text: str, position: int, block: str) -> str:
    if position == len(text) and text and not text.endswith("\n"):
        return text + layout.newline_at(text, position) + block.removesuffix("\n").removesuffix("\r")
    return text[:position] + (block if block.endswith("\n") else block + "\n") + text[position:]


def _restore_members(text: str, key: Path, original: Document, members: list[Member]) -> str:
    from ctk.edit.toml import load

    wanted = {member.path for member in members}
    if scan(text).sections_under(key):
        text = take_out(text, key)
    text = without_keys(text, key, wanted)
    for member in members:
        document = scan(text)
        raw = original.text[member.value.start : member.value.end]
        present = next((other for other in document.members() if other.path == member.path), None)
        if present is not None:
            text = text[: present.value.start] + raw + text[present.value.end :]
            continue
        line = _line_behind_its_neighbour(document, original, member)
        names = tuple(str(name) for name in member.path)
        text = line if line is not None else put_raw(document, load(text), names, raw)
    return text


def _line_behind_its_neighbour(document: Document, original: Document, member: Member) -> str | None:
    """The text with the whole line, behind the line that it follows in the original; None if that is gone."""
    section = next((section for section in original.sections if member in section.members), None)
    here = next((other for other in document.sections if section and other.path == section.path), None)
    if section is None or here is None:
        return None
    before = section.members[: section.members.index(member)]
    neighbour = next((other for other in here.members if before and other.path == before[-1].path), None)
    if neighbour is None and (before or not here.number):
        return None
    position = neighbour.line_end if neighbour else here.line_end
    return _inserted(document.text, position, original.text[member.line_start : member.line_end])
