"""Takes keys and tables out of TOML text, in whichever form they are written; the caller proves the result."""

from ctk.edit import toml_layout as layout
from ctk.edit.compare import Path
from ctk.edit.toml_scan import Document, Member, Section, Value, scan


def take_out(text: str, key: Path) -> str:
    """The text without the key or table and all below it."""
    while True:
        document = scan(text)
        members = [member for member in document.members() if _is_own(member, key)]
        sections = document.sections_under(key)
        if members:
            text = without_member(document, members[-1])
        elif sections:
            text = _without_run(document, sections)
        else:
            return text


def _is_own(member: Member, key: Path) -> bool:
    """Whether the member itself goes: it lies below the key, and its holder does not go as a whole."""
    return member.path[: len(key)] == key and member.holder[: len(key)] != key


def prune(text: str, table: Path) -> str:
    """The text without the table's header (or its braces), if nothing stands below it any more."""
    document = scan(text)
    section = document.section(table) if table else None
    if section is not None and not section.members:
        return _without_lines(document, section.line_start, section.line_end, section.keys)
    member = document.member(table)
    if member is not None and member.value.kind == "table" and not member.value.members:
        return without_member(document, member)
    return text


def without_section(document: Document, section: Section) -> str:
    """The text without one header and the keys below it; its sub-tables stay."""
    return _without_lines(document, section.line_start, section.end, section.keys)


def without_member(document: Document, member: Member) -> str:
    """The text without one `key = value`."""
    if member.line_start < 0:
        return _without_inline(document, member)
    return _without_lines(document, member.line_start, member.line_end, ())


def _without_run(document: Document, sections: list[Section]) -> str:
    """Without the last sections that stand together."""
    last = first = sections[-1]
    for section in reversed(sections[:-1]):
        if section.number != first.number - 1:
            break
        first = section
    return _without_lines(document, first.line_start, last.end, first.keys)


def _without_lines(document: Document, start: int, end: int, keys: Path) -> str:
    """Without text[start:end] and without the empty lines that inserting it would have brought."""
    text = document.text
    for before, after in ((True, False), (False, True)):
        left = _line_start_before(text, start) if before else start
        right = _line_end_behind(text, end) if after else end
        if text[left:start].strip("\r") not in ("\n", "") or text[end:right].strip("\r") not in ("\n", ""):
            continue
        if (left == start) == before or (right == end) == after:
            continue
        candidate, position = _cut(text, left, right)
        if layout.gaps(scan(candidate), position, keys) == (before, after):
            return candidate
    return _cut(text, start, end)[0]


def _cut(text: str, start: int, end: int) -> tuple[str, int]:
    """Without text[start:end]; a text without a final newline keeps none. Also where the cut is."""
    result = text[:start] + text[end:]
    if end == len(text) and not text.endswith("\n"):
        result = result.removesuffix("\n").removesuffix("\r")
    return result, min(start, len(result))


def _line_start_before(text: str, position: int) -> int:
    return text.rfind("\n", 0, max(position - 1, 0)) + 1 if position else 0


def _line_end_behind(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _without_inline(document: Document, member: Member) -> str:
    """Without a member of an inline table, with the comma that parted it from its neighbour."""
    text = document.text
    table = _holder(document, member)
    index = table.members.index(member)
    if index:
        return text[: table.members[index - 1].value.end] + text[member.value.end :]
    if len(table.members) > 1:
        return text[: member.start] + text[table.members[1].start :]
    left, right = text[table.start + 1 : member.start], text[member.value.end : table.end - 1]
    inside = left if left == right else left + right
    return text[: table.start + 1] + inside + text[table.end - 1 :]


def _holder(document: Document, member: Member) -> Value:
    return next(other.value for other in document.members() if member in other.value.members)
