"""Puts keys and tables into TOML text, in the form the file already uses; the caller proves the result."""

from collections.abc import Mapping
from typing import NamedTuple

from ctk.edit import toml_layout as layout
from ctk.edit.compare import MISSING, Path, is_equal, lookup
from ctk.edit.text import position as line_and_column
from ctk.edit.toml_render import dotted, render_key, render_value
from ctk.edit.toml_scan import Document, Member, Section, Value, scan
from ctk.errors import ParseFault


class Home(NamedTuple):
    """The deepest table on the way to a key that is there already, in the form it is written in.

    Exactly one of: braces (the member whose value is the inline table), section (its header, or the top level),
    siblings (the dotted keys that make it); none: other headers imply it.
    """

    path: Path
    braces: Member | None = None
    section: Section | None = None
    siblings: tuple[Member, ...] = ()


def put(text: str, data: Mapping[str, object], key: Path, value: object) -> str:
    """The text with `value` at `key`; it is not there yet, or another value is."""
    document = scan(text)
    member = document.member(key)
    if member is not None:
        return text[: member.value.start] + render_value(value) + text[member.value.end :]
    if lookup(data, key) is MISSING:
        return put_raw(document, data, key, render_value(value))
    if not isinstance(value, Mapping) or not isinstance(lookup(data, key), Mapping):
        raise _in_the_way(document, key, key)
    return _put_members(text, data, key, value)


def _put_members(text: str, data: Mapping[str, object], table: Path, values: Mapping[str, object]) -> str:
    """Make a table that is written as headers or dotted keys hold `values` and nothing else."""
    from ctk.edit.toml import load
    from ctk.edit.toml_remove import take_out

    old = lookup(data, table)
    for name in old if isinstance(old, Mapping) else ():
        if name not in values:
            text = take_out(text, (*table, name))
    return _merge(text, load(text), table, values)


def put_raw(document: Document, data: Mapping[str, object], key: Path, raw: str) -> str:
    """The text with a new key, its value as written."""
    home = find_home(document, data, key[:-1], key)
    rest = key[len(home.path) :]
    if home.braces is not None:
        return _into_braces(document.text, home.braces, rest, raw)
    if home.siblings:
        return _beside(document, home, home.siblings[-1], [(rest, raw)])
    if home.section is not None and len(rest) == 1:
        return _into_section(document, home.section, rest[0], raw)
    table = key[:-1]
    if home.section is None and len(rest) == 1:
        return _before_subtables(document, table, key[-1], raw)
    return _new_tables(document, table, [(table, [(key[-1], raw)])], None)


def add(text: str, data: Mapping[str, object], table: Path, values: Mapping[str, object], after: Path | None) -> str:
    """The text with a new table, or with `values` merged into the table that is there."""
    old = lookup(data, table)
    if isinstance(old, Mapping):
        return _merge(text, data, table, values)
    document = scan(text)
    if old is not MISSING:
        raise _in_the_way(document, table, table)
    home = find_home(document, data, table[:-1], table)
    rest = table[len(home.path) :]
    if home.braces is not None:
        return _into_braces(text, home.braces, rest, render_value(values))
    if home.siblings:
        anchor = _sibling_anchor(home, after)
        return _beside(document, home, anchor, _flat(rest, values))
    return _new_tables(document, table, _blocks(table, values), after)


def _merge(text: str, data: Mapping[str, object], table: Path, values: Mapping[str, object]) -> str:
    """data is what `text` holds; the keys of `values` do not touch each other, so it may be old for looking one up."""
    from ctk.edit.toml import load

    read = text
    for name, value in values.items():
        key = (*table, name)
        old = lookup(data, key)
        if is_equal(old, value):
            continue
        if text is not read:
            data, read = load(text), text
        if isinstance(value, Mapping) and (old is MISSING or isinstance(old, Mapping)):
            text = add(text, data, key, value, None)
        else:
            text = put(text, data, key, value)
    return text


# --- where a table is ----------------------------------------------------------------------------------------------


def find_home(document: Document, data: Mapping[str, object], parent: Path, key: Path) -> Home:
    """The deepest existing table among `parent` and its parents. Raises ParseFault if a value stands in its place."""
    depth = len(parent)
    while lookup(data, parent[:depth]) is MISSING:
        depth -= 1
    path = parent[:depth]
    if not isinstance(lookup(data, path), Mapping):
        raise _in_the_way(document, path, key)
    member = document.member(path) if path else None
    if member is not None:
        return Home(path, braces=member)
    section = document.section(path)
    if section is not None:
        return Home(path, section=section)
    return Home(path, siblings=tuple(document.dotted(path)))


def _in_the_way(document: Document, path: Path, key: Path) -> ParseFault:
    while path and not (document.member(path) or document.sections_under(path)):
        path = path[:-1]
    found = document.member(path) or next(iter(document.sections_under(path)), None)
    line, column = line_and_column(document.text, found.start if found else 0)
    return ParseFault(
        f"cannot set {dotted(key)}: line {line}, column {column}: {dotted(path)} is of another kind",
        hint=f"Correct {dotted(path)} in the file and run the command again. Nothing was changed.",
        line=line,
        column=column,
    )


# --- into what is there --------------------------------------------------------------------------------------------


def _into_section(document: Document, section: Section, name: str, raw: str) -> str:
    text = document.text
    line = f"{layout.key_indent(document, section)}{render_key(name)}{layout.equals_sign(document, section)}{raw}"
    if section.number or section.members:
        return layout.insert_lines(text, section.end, [line])
    position = layout.lead_end(document)
    after = layout.gaps(document, position, ()).after
    return layout.insert_lines(text, position, [line, ""] if after else [line])


def _beside(document: Document, home: Home, anchor: Member, members: list[tuple[Path, str]]) -> str:
    """Put dotted keys behind the sibling `anchor`; members are paths below home and values as written."""
    text = document.text
    pieces = anchor.parts[: len(home.path) - len(anchor.holder)]
    equals = layout.equals_of(text, anchor)
    written = [f"{'.'.join((*pieces, *map(render_key, path)))}{equals}{raw}" for path, raw in members]
    if anchor.line_start < 0:
        return text[: anchor.value.end] + "".join(f", {member}" for member in written) + text[anchor.value.end :]
    indent = layout.indent_of(text, anchor.line_start, anchor.start)
    return layout.insert_lines(text, anchor.line_end, [indent + line for line in written])


def _sibling_anchor(home: Home, after: Path | None) -> Member:
    """The last of the dotted keys below `after`, else the last of all."""
    if after is not None:
        behind = [member for member in home.siblings if member.path[: len(after)] == after]
        if behind:
            return behind[-1]
    return home.siblings[-1]


def _into_braces(text: str, holder: Member, rest: Path, raw: str) -> str:
    table: Value = holder.value
    name = dotted(rest)
    if table.members:
        last = table.members[-1]
        member = f"{name}{layout.equals_of(text, last)}{raw}"
        return f"{text[: last.value.end]}{_separator(text, table)}{member}{text[last.value.end :]}"
    inside = text[table.start + 1 : table.end - 1]
    member = f"{name}{layout.equals_of(text, holder)}{raw}"
    return f"{text[: table.start + 1]}{inside}{member}{inside}{text[table.end - 1 :]}"


def _separator(text: str, table: Value) -> str:
    """What stands between the last two members, if it is a comma with blanks."""
    if len(table.members) > 1:
        between = text[table.members[-2].value.end : table.members[-1].start]
        if between.strip(" \t") == ",":
            return between
    return ", "


# --- new headers ---------------------------------------------------------------------------------------------------

Block = tuple[Path, list[tuple[str, str]]]
"""A header and its keys with their values as written."""


def _blocks(table: Path, values: Mapping[str, object]) -> list[Block]:
    """The table, then one block for each nested mapping; a header with nothing but sub-tables is left out."""
    own = [(name, render_value(value)) for name, value in values.items() if not isinstance(value, Mapping)]
    blocks: list[Block] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            blocks.extend(_blocks((*table, name), value))
    return [(table, own), *blocks] if own or not blocks else blocks


def _flat(path: Path, value: object) -> list[tuple[Path, str]]:
    if not isinstance(value, Mapping) or not value:
        return [(path, render_value(value))]
    return [leaf for name, member in value.items() for leaf in _flat((*path, name), member)]


def _new_tables(document: Document, table: Path, blocks: list[Block], after: Path | None) -> str:
    place = _place(document, table, after)
    if place is None:
        position, model = _text_end(document), None
    else:
        position = layout.body_end(document, place)
        model = _model(document, table, after) or (place if place.number else None)
    return _insert_blocks(document, position, model, table, blocks)


def _before_subtables(document: Document, table: Path, name: str, raw: str) -> str:
    """A header of its own for a table that so far only its sub-tables imply, right before the first of them."""
    first = document.sections_under(table)[0]
    position = layout.tail_end(document, document.sections[first.number - 1])
    return _insert_blocks(document, position, first, table, [(table, [(name, raw)])])


def _insert_blocks(document: Document, position: int, model: Section | None, table: Path, blocks: list[Block]) -> str:
    gaps = layout.gaps(document, position, table)
    lines = [""] if gaps.before else []
    for number, (path, members) in enumerate(blocks):
        nested = number > 0 and path[: len(blocks[number - 1][0])] == blocks[number - 1][0]
        if number and layout.is_parted(document, nested):
            lines.append("")
        lines.extend(_block_lines(document, model, path, members))
    if gaps.after:
        lines.append("")
    return layout.insert_lines(document.text, position, lines)


def _block_lines(document: Document, model: Section | None, path: Path, members: list[tuple[str, str]]) -> list[str]:
    indent = layout.header_indent(document, model, len(path))
    header = ".".join(layout.header_parts(document, model, path))
    index = model.number if model else 0
    inner = indent + layout.body_step(document, index)
    equals = layout.equals_sign(document, document.sections[index])
    return [f"{indent}[{header}]", *(f"{inner}{render_key(name)}{equals}{raw}" for name, raw in members)]


def _place(document: Document, table: Path, after: Path | None) -> Section | None:
    """The section behind which a new table goes; None = at the end of the text."""
    if after is not None:
        group = document.sections_under(after)
        if group:
            return _last_of_run(document, document.section(after) or group[0], after)
    for depth in range(len(table) - 1, 0, -1):
        relatives = document.sections_under(table[:depth])
        if relatives:
            return relatives[-1]
    return None


def _last_of_run(document: Document, first: Section, path: Path) -> Section:
    """The last of the sections that follow `first` without a stranger in between."""
    last = first
    for section in document.sections[first.number + 1 :]:
        if section.path[: len(path)] != path:
            break
        last = section
    return last


def _model(document: Document, table: Path, after: Path | None) -> Section | None:
    """The header whose hand a new one follows: that of `after`, else of the last sibling, else of a sibling's part."""
    if after is not None and document.section(after):
        return document.section(after)
    relatives = document.sections_under(table[:-1]) if len(table) > 1 else []
    siblings = [section for section in relatives if len(section.keys) == len(table)]
    deeper = [section for section in relatives if len(section.keys) > len(table)]
    found = siblings or deeper or relatives
    return found[-1] if found else None


def _text_end(document: Document) -> int:
    """Behind the last line that is not empty; behind everything if all lines are."""
    end = len(document.text.rstrip())
    if not end:
        return len(document.text)
    line_end = document.text.find("\n", end)
    return len(document.text) if line_end < 0 else line_end + 1
