"""Adds and removes elements of TOML arrays, comments and commas in their places; the caller proves the result."""

from ctk.edit.compare import Path
from ctk.edit.toml_layout import newline_at
from ctk.edit.toml_render import dotted, render_value
from ctk.edit.toml_scan import Value, scan
from ctk.errors import ParseFault


def append(text: str, key: Path, value: object) -> str:
    """The text with one more element at the array's end."""
    array = _find(text, key)
    raw = render_value(value)
    if not array.items:
        return _first(text, array, raw)
    last = array.items[-1]
    trailing = len(array.commas) == len(array.items)
    end = array.commas[-1] + 1 if trailing else last.end
    own_line = _starts_line(text, last.start)
    indent = text[_line_start(text, last.start) : last.start]
    closing_on_own_line = "\n" in text[end : array.end]
    comma = "," if trailing else ""
    if not (own_line and closing_on_own_line):
        between = (newline_at(text, last.start) + indent) if own_line else " "
        head = text[: last.end] + ("," if not trailing else text[last.end : end])
        return f"{head}{between}{raw}{comma}{text[end:]}"
    line_end = text.find("\n", end) + 1
    head = text[:end] + ("" if trailing else ",") + text[end:line_end]
    return f"{head}{indent}{raw}{comma}{newline_at(text, line_end)}{text[line_end:]}"


def _first(text: str, array: Value, raw: str) -> str:
    inside = text[array.start + 1 : array.end - 1]
    if "\n" not in inside:
        return f"{text[: array.start + 1]}{inside}{raw}{inside}{text[array.end - 1 :]}"
    closing_line = _line_start(text, array.end - 1)
    indent = text[closing_line : array.end - 1]
    newline = newline_at(text, closing_line)
    return f"{text[:closing_line]}{indent}  {raw},{newline}{text[closing_line:]}"


def drop(text: str, key: Path, index: int) -> str:
    """The text without element number `index`; its line goes if it holds nothing else (but a comment on it)."""
    array = _find(text, key)
    item = array.items[index]
    comma = array.commas[index] + 1 if index < len(array.commas) else None
    end = comma or item.end
    is_last = index == len(array.items) - 1
    lone_comma = array.commas[index - 1] if is_last and comma is None and index else None
    if _starts_line(text, item.start) and _ends_line(text, end):
        start, stop = _line_start(text, item.start), text.find("\n", end) + 1
    elif index:
        start, stop = array.commas[index - 1] + 1, end
    elif not is_last:
        start, stop = item.start, array.items[1].start
    else:
        return _emptied(text, array, item, end)
    if lone_comma is None:
        return text[:start] + text[stop:]
    return text[:lone_comma] + text[lone_comma + 1 : start] + text[stop:]


def _emptied(text: str, array: Value, item: Value, end: int) -> str:
    left, right = text[array.start + 1 : item.start], text[end : array.end - 1]
    inside = left if left == right else left + right
    return text[: array.start + 1] + inside + text[array.end - 1 :]


def _find(text: str, key: Path) -> Value:
    member = scan(text).member(key)
    if member is None or member.value.kind != "array":
        raise ParseFault(
            f"cannot edit {dotted(key)}: it is an array of tables",
            hint="Write it as a plain array and run the command again. Nothing was changed.",
        )
    return member.value


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _starts_line(text: str, position: int) -> bool:
    return not text[_line_start(text, position) : position].strip()


def _ends_line(text: str, position: int) -> bool:
    end = text.find("\n", position)
    rest = text[position:end].strip() if end >= 0 else "]"
    return not rest or rest.startswith("#")
