"""Where a new line or table of a TOML text goes, and how the neighbours are written; it changes no text."""

import re
from typing import NamedTuple

from ctk.edit.compare import Path
from ctk.edit.toml_render import is_bare, render_key
from ctk.edit.toml_scan import Document, Member, Section, lines_of

_USUAL_EQUALS = re.compile(r" ?= ?\Z")


class Gaps(NamedTuple):
    """Whether an empty line parts a new header from what stands before it, and what stands behind it."""

    before: bool
    after: bool


# --- lines ---------------------------------------------------------------------------------------------------------


def newline_at(text: str, position: int) -> str:
    """The line end of the line before `position`, else of the next one, else a newline."""
    end = text.rfind("\n", 0, position)
    if end < 0:
        end = text.find("\n", position)
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def insert_lines(text: str, position: int, lines: list[str]) -> str:
    """Put whole lines (without their ends) at the start of a line, or behind a last line that has no end."""
    newline = newline_at(text, position)
    if position == len(text) and text and not text.endswith("\n"):
        return text + "".join(newline + line for line in lines)
    return text[:position] + "".join(line + newline for line in lines) + text[position:]


def is_blank_before(text: str, position: int) -> bool:
    """Whether the line that ends at `position` is empty; also at the start of the text."""
    start = text.rfind("\n", 0, max(position - 1, 0)) + 1
    return not text[start:position].strip()


def is_blank_behind(text: str, position: int) -> bool:
    """Whether the line that starts at `position` is empty; also at the end of the text."""
    end = text.find("\n", position)
    return not text[position : len(text) if end < 0 else end].strip()


def indent_of(text: str, line_start: int, start: int) -> str:
    """The blanks in front of a header or key; what stands behind a brace has none."""
    return text[line_start:start] if line_start >= 0 else ""


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


# --- comments: whose they are --------------------------------------------------------------------------------------


def lead_start(document: Document, index: int) -> int:
    """Where the comment block right above header number `index` begins; at the header's line without one.

    A block that also touches the last key above is the header's, but for lines indented like that key, not like it.
    """
    section, previous = document.sections[index], document.sections[index - 1]
    lines = lines_of(document.text[previous.end : section.line_start])
    first = len(lines)
    while first and lines[first - 1].strip():
        first -= 1
    if not first and previous.members:
        own = indent_of(document.text, previous.members[-1].line_start, previous.members[-1].start)
        other = indent_of(document.text, section.line_start, section.start)
        while first < len(lines) and own != other and _indent(lines[first]) == own:
            first += 1
    return section.line_start - sum(map(len, lines[first:]))


def _boundary(document: Document, section: Section) -> int:
    following = section.number + 1
    return lead_start(document, following) if following < len(document.sections) else len(document.text)


def body_end(document: Document, section: Section) -> int:
    """The end of a section with the comments that touch its last line; what follows belongs to the next header."""
    if not section.number and not section.members:
        return lead_end(document)
    position = section.end
    for line in lines_of(document.text[position : _boundary(document, section)]):
        if not line.strip():
            break
        position += len(line)
    return position


def tail_end(document: Document, section: Section) -> int:
    """The end of the last line that is not empty before the next header and its comments."""
    position = end = section.end
    for line in lines_of(document.text[position : _boundary(document, section)]):
        position += len(line)
        end = position if line.strip() else end
    return end if end or section.number or section.members else lead_end(document)


def lead_end(document: Document) -> int:
    """Where the first top-level key of a text without any goes: behind the comment block at its start.

    In front of that block if it stands right above the first header, because then it is that header's.
    """
    boundary = _boundary(document, document.sections[0])
    position = 0
    in_block = False
    for line in lines_of(document.text[:boundary]):
        if in_block and not line.strip():
            break
        in_block = in_block or bool(line.strip())
        position += len(line)
    return position


# --- empty lines between tables ------------------------------------------------------------------------------------


def is_parted(document: Document, nested: bool) -> bool:
    """Whether this text parts its tables by empty lines; asked apart for headers right below their own parent's."""
    votes = {True: 0, False: 0}
    for section in document.sections[1:]:
        previous = document.sections[section.number - 1]
        start = lead_start(document, section.number)
        if previous.number or previous.members or start:
            votes[_is_child(section, previous)] += 1 if is_blank_before(document.text, start) else -1
    return (votes[nested] or votes[not nested]) >= 0


def _is_child(section: Section, previous: Section) -> bool:
    return 0 < len(previous.keys) < len(section.keys) and section.keys[: len(previous.keys)] == previous.keys


def gaps(document: Document, position: int, keys: Path) -> Gaps:
    """The empty lines that a new table, or first top-level key (keys = ()), gets at `position`.

    Removal asks the same of the text without the table, and so takes back what insertion gave and nothing more.
    """
    previous = next(section for section in reversed(document.sections) if section.line_start <= position)
    if previous.number and previous.line_start == position:
        previous = document.sections[previous.number - 1]
    is_first = not previous.number and not previous.members
    nested = 0 < len(previous.keys) < len(keys) and keys[: len(previous.keys)] == previous.keys
    places = (body_end(document, previous), tail_end(document, previous))
    if position not in places or not is_parted(document, nested):
        return Gaps(False, False)
    before = bool(keys) and not is_blank_before(document.text, position)
    after = is_first and not is_blank_behind(document.text, position)
    return Gaps(before, after)


# --- the neighbours' hand ------------------------------------------------------------------------------------------


def equals_sign(document: Document, section: Section) -> str:
    """The "=" with its blanks as the section's last key has it, else as the nearest key above."""
    for candidate in reversed(document.sections[: section.number + 1]):
        if candidate.members:
            return equals_of(document.text, candidate.members[-1])
    return " = "


def equals_of(text: str, member: Member) -> str:
    """The "=" of one key with its blanks, unless it is padded for a column."""
    written = text[member.key_end : member.value.start]
    return written if _USUAL_EQUALS.match(written) else " = "


def key_indent(document: Document, section: Section) -> str:
    """The indentation of a new key in a section."""
    text = document.text
    if section.members:
        return indent_of(text, section.members[-1].line_start, section.members[-1].start)
    if not section.number:
        return ""
    return indent_of(text, section.line_start, section.start) + body_step(document, section.number)


def body_step(document: Document, index: int) -> str:
    """How much deeper keys stand than their header, at the header with keys nearest to number `index`."""
    for section in sorted(document.sections[1:], key=lambda section: abs(section.number - index)):
        if section.members:
            own = indent_of(document.text, section.members[0].line_start, section.members[0].start)
            return own.removeprefix(indent_of(document.text, section.line_start, section.start))
    return ""


def nest_step(document: Document, index: int) -> str:
    """How much deeper a sub-table's header stands than its parent's, at the pair nearest to header number `index`."""
    by_keys = {section.keys: section for section in document.sections[1:]}
    for section in sorted(document.sections[1:], key=lambda section: abs(section.number - index)):
        parent = by_keys.get(section.keys[:-1])
        if parent is not None:
            own = indent_of(document.text, section.line_start, section.start)
            other = indent_of(document.text, parent.line_start, parent.start)
            return own.removeprefix(other) if own.startswith(other) else ""
    return ""


def header_indent(document: Document, model: Section | None, depth: int) -> str:
    """The indentation of a new header of `depth` keys, after the model's."""
    if model is None:
        return ""
    indent = indent_of(document.text, model.line_start, model.start)
    step = nest_step(document, model.number)
    if depth >= len(model.keys):
        return indent + step * (depth - len(model.keys))
    surplus = step * (len(model.keys) - depth)
    return indent.removesuffix(surplus)


def header_parts(document: Document, model: Section | None, table: Path) -> tuple[str, ...]:
    """A new header's keys, spelled as the model and the other headers spell them."""
    parts: list[str] = []
    models = ([model] if model else []) + list(document.sections[1:])
    for depth, key in enumerate(table):
        prefix = table[: depth + 1]
        same = next((section.parts[depth] for section in models if section.keys[: depth + 1] == prefix), None)
        parts.append(render_key(key, _quote(model, depth, key)) if same is None else same)
    return tuple(parts)


def _quote(model: Section | None, depth: int, key: str) -> str:
    """The quotation mark for a new piece of a header: the model's at this depth, or its last where one is needed."""
    if model is None:
        return ""
    if depth < len(model.parts) and (model.parts[depth][0] in "\"'"):
        # The model's key may have needed its quotes; a key that needs none takes them only from one that did not.
        return model.parts[depth][0] if is_bare(model.keys[depth]) or not is_bare(key) else ""
    quoted = [part[0] for part in model.parts if part[0] in "\"'"]
    return "" if is_bare(key) or not quoted else quoted[-1]
