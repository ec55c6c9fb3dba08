"""Edits single members of a JSON text and leaves every other byte alone; opens no file and knows no engine."""

from collections.abc import Mapping

from ctk.edit import json_check as check
from ctk.edit import json_scan as scan
from ctk.edit.text import position
from ctk.errors import ParseFault
from ctk.record import Record

Path = tuple[str, ...]


class _Raw(Record):
    """A value that is written as the token stands."""

    token: str


def load(text: str, path: str) -> object:
    """Parse strict JSON. Raises ParseFault with line and column, its cause naming which fault it is.

    Numbers become int and float, a repeated key has its last value. NaN and Infinity are no JSON: Go's parser, which
    the engines use, refuses them (https://pkg.go.dev/encoding/json), while Python's would take them.
    """
    import json

    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        from ctk.edit.json_faults import explain

        raise explain(text, path, error) from error


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


def kind_of(value: object) -> str:
    """The JSON name of a value's type, for messages."""
    names = {bool: "a boolean", str: "a string", list: "an array", dict: "an object", type(None): "null"}
    return names.get(type(value), "a number")


def duplicates(text: str) -> list[tuple[Path, int, int]]:
    """Every repetition of a key in one object: (path, line, column); array elements count as their index."""
    if not _repeats(text):
        return []
    return _duplicates_at(text, scan.skip_whitespace(text, 0), ())


def _repeats(text: str) -> bool:
    """Whether there is any repetition, which is rare and therefore asked first, without places."""
    import json

    found = False

    def watch(members: list[tuple[str, object]]) -> None:
        nonlocal found
        found = found or len({key for key, _ in members}) < len(members)

    json.loads(text, object_pairs_hook=watch)
    return found


def _duplicates_at(text: str, start: int, path: Path) -> list[tuple[Path, int, int]]:
    found: list[tuple[Path, int, int]] = []
    if text[start] == "[":
        for index, element in enumerate(scan.scan_array(text, start)):
            found += _duplicates_at(text, element, (*path, str(index)))
    if text[start] == "{":
        seen: set[str] = set()
        for member in scan.scan_object(text, start).members:
            here = (*path, member.key)
            if member.key in seen:
                found.append((here, *position(text, member.key_start)))
            seen.add(member.key)
            found += _duplicates_at(text, member.value_start, here)
    return found


def position_of(text: str, key: Path) -> tuple[int, int] | None:
    """Line and column of the key token at `key`, of the document itself for (), None where there is no such member."""
    if not key:
        return position(text, scan.skip_whitespace(text, 0))
    found = _find(text, key, "the document")
    return position(text, found.member.key_start) if found.member else None


def raw_value(text: str, key: Path) -> str | None:
    """The value token at `key` as it is written, of the whole document for (); None where there is none."""
    if not key:
        return text.strip(scan.WHITESPACE)
    member = _find(text, key, "the document").member
    return text[member.value_start : member.value_end] if member else None


def set_member(text: str, key: Path, value: object, *, path: str = "the document") -> str:
    """Give the member at `key` this value; the same text where it has it already.

    An existing member keeps its place, a new one becomes the last of its object, in the file's own style; missing
    objects on the way are made. Raises ParseFault for an invalid text, for something else than an object on the way
    and for a repeated key on it.
    """
    load(text, path)
    found = _find(text, key, path)
    wanted = check.tree_of(value)
    if found.member:
        token = text[found.member.value_start : found.member.value_end]
        if check.exact_tree(token) == wanted:
            return text
    return _put(text, key, value, wanted, found, path)


def set_raw_value(text: str, key: Path, token: str, *, path: str = "the document") -> str:
    """As set_member, with a value token as raw_value gave it: its spelling and inner layout stay."""
    load(text, path)
    load(token, path)
    found = _find(text, key, path)
    if found.member and text[found.member.value_start : found.member.value_end] == token:
        return text
    return _put(text, key, _Raw(token), check.exact_tree(token), found, path)


def remove_member(text: str, key: Path, *, path: str = "the document") -> str:
    """Take the member at `key` out, with its comma; the same text where there is none."""
    load(text, path)
    found = _find(text, key, path)
    if not found.member:
        return text
    after = _cut(text, found.span, found.member)
    check.require_tree(after, check.without_value(check.exact_tree(text), key), path)
    return after


def _cut(text: str, span: scan.ObjectSpan, member: scan.Member) -> str:
    """The text without the member. What else stands on its neighbours' lines stays: their blanks and line ends."""
    index = span.position(member)
    if index < len(span.members) - 1:
        return text[: member.key_start] + text[span.members[index + 1].key_start :]
    if not index:
        return text[: span.open + 1] + text[span.close :]
    before, after = scan.gap_before(text, span, index).split(",")
    kept = "" if before else scan.rest_of_line(after)
    return text[: span.end_before(index)] + kept + text[member.value_end :]


class _Found(Record):
    """The deepest object on the way to a key, the keys still missing below it, and the member if it is there."""

    root: scan.ObjectSpan
    parent: scan.ObjectSpan | None
    span: scan.ObjectSpan
    missing: Path
    member: scan.Member | None


def _find(text: str, key: Path, path: str) -> _Found:
    start = scan.skip_whitespace(text, 0)
    _require_object(text, start, (), path)
    root = span = scan.scan_object(text, start)
    parent = None
    for depth, name in enumerate(key):
        member = _only_member(text, span, key[: depth + 1], path)
        if member is None:
            return _Found(root, parent, span, key[depth:], None)
        if depth == len(key) - 1:
            return _Found(root, parent, span, (name,), member)
        _require_object(text, member.value_start, key[: depth + 1], path)
        parent, span = span, scan.scan_object(text, member.value_start)
    raise ValueError("the document itself is no member")


def _only_member(text: str, span: scan.ObjectSpan, key: Path, path: str) -> scan.Member | None:
    members = span.named(key[-1])
    if len(members) < 2:
        return members[0] if members else None
    first = position(text, members[0].key_start)
    line, column = position(text, members[1].key_start)
    name = ".".join(key)
    raise ParseFault(
        f"cannot edit {path}: line {line}, column {column}: {name} is there twice, "
        f"the first time in line {first[0]}, column {first[1]}",
        hint=f"Programs read only one of them, mostly the last: keep one {name} in {path}. Nothing was changed.",
        path=path,
        line=line,
        column=column,
    )


def _require_object(text: str, start: int, key: Path, path: str) -> None:
    if text[start] == "{":
        return
    value = scan.text_decoder().raw_decode(text, start)[0] if text[start] not in "-0123456789" else 0
    raise wrong_type(text, key, "an object", value, path)


def wrong_type(text: str, key: Path, wanted: str, value: object, path: str) -> ParseFault:
    """The error for a member, or () for the document, that holds the wrong kind of value."""
    line, column = _value_position(text, key)
    name = ".".join(key) or "the top level"
    return ParseFault(
        f"cannot use {path}: line {line}, column {column}: {name} must be {wanted}, not {kind_of(value)}",
        hint=f"Correct {name} in {path} and run the command again. Nothing was changed.",
        path=path,
        line=line,
        column=column,
    )


def _value_position(text: str, key: Path) -> tuple[int, int]:
    """Where the value at `key` begins, along keys that are known to be there once."""
    start = scan.skip_whitespace(text, 0)
    for name in key:
        start = scan.scan_object(text, start).named(name)[0].value_start
    return position(text, start)


def _put(text: str, key: Path, value: object, tree: object, found: _Found, path: str) -> str:
    style = scan.style_of(text, found.span if found.span.members else found.parent or found.span, found.root)
    if found.member:
        indentation = scan.line_indentation(text, found.member.key_start)
        multiline = scan.is_multiline(text, found.span)
        token = _render(value, indentation if multiline else None, style)
        after = text[: found.member.value_start] + token + text[found.member.value_end :]
    else:
        for name in reversed(found.missing[1:]):
            value = {name: value}
        after = _insert(text, found, value, style)
    check.require_tree(after, check.with_value(check.exact_tree(text), key, tree), path)
    return after


def _insert(text: str, found: _Found, value: object, style: scan.Style) -> str:
    """A new last member of the found object."""
    span = found.span
    if not span.members:
        return _open(text, found, value, style)
    last = span.members[-1]
    spread = scan.is_multiline(text, span) and not _is_beside_one_line(text, span, _depth(value))
    token = _render(value, scan.line_indentation(text, last.key_start) if spread else None, style)
    lead, at = _lead_of_new_member(text, span, style)
    return text[: last.value_end] + lead + _scalar(found.missing[0]) + style.colon + token + text[at:]


def _lead_of_new_member(text: str, span: scan.ObjectSpan, style: scan.Style) -> tuple[str, int]:
    """What comes between the last value and a new key, after the model of the last key; and where the text goes on.

    The rest of the last value's line, blanks and line end, stays on that line: what is new begins after it.
    """
    last = len(span.members) - 1
    at = span.members[last].value_end
    before, _, after = scan.gap_before(text, span, last).rpartition(",")
    if "\n" in before:  # the comma begins the line
        return scan.one_line_break(before) + "," + after, at
    if "\n" not in after:
        return (before + "," + after if last else style.comma), at
    line_break = scan.one_line_break(after)
    tail = text[at : span.close]
    kept = scan.rest_of_line(tail)
    if "\n" in tail:
        line_break = ("\r\n" if tail.startswith("\r", len(kept)) else "\n") + line_break.lstrip("\r\n")
    return "," + kept + line_break, at + len(kept)


def _is_beside_one_line(text: str, span: scan.ObjectSpan, depth: int) -> bool:
    """Whether the last filled object beside a new member of this depth is written on one line."""
    for member in reversed(span.members):
        found = scan.depth_of(text, member.value_start)
        if found:
            return depth > 0 and found >= depth and scan.is_on_one_line(text, member.value_start)
    return False


def _open(text: str, found: _Found, value: object, style: scan.Style) -> str:
    """The first member of an empty object: on lines of their own unless the object's own line holds its siblings."""
    span, parent = found.span, found.parent
    content = {found.missing[0]: value}
    multiline = parent is None or (
        scan.is_multiline(text, parent) and not _is_beside_one_line(text, parent, _depth(content))
    )
    indentation = scan.line_indentation(text, span.open) if multiline else None
    return text[: span.open] + _render(content, indentation, style) + text[span.close + 1 :]


def _depth(value: object) -> int:
    if isinstance(value, Mapping) and value:
        return 1 + max(_depth(item) for item in value.values())
    return 0


def _render(value: object, indentation: str | None, style: scan.Style) -> str:
    """A value token; indentation is that of the line it begins on, None for all on one line."""
    if isinstance(value, _Raw):
        return value.token
    if not isinstance(value, Mapping) or not value:
        return _scalar(value)
    inner = None if indentation is None else indentation + style.unit
    members = [_scalar(str(key)) + style.colon + _render(item, inner, style) for key, item in value.items()]
    if indentation is None or inner is None:
        return "{" + style.padding + style.comma.join(members) + style.padding + "}"
    begin = style.newline + inner
    return "{" + begin + ("," + begin).join(members) + style.newline + indentation + "}"


def _scalar(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
