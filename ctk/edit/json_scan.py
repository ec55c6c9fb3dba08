"""Where the tokens of a valid JSON text stand and how the text is laid out; judges no text and changes none."""

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from json import JSONDecoder

WHITESPACE = " \t\n\r"  # RFC 8259, section 2
DEFAULT_UNIT = "    "  # what NVIDIA's toolkit writes into daemon.json


class Member(NamedTuple):
    """One `"key": value` of an object; the offsets are those of the two tokens, ends exclusive."""

    key: str
    key_start: int
    key_end: int
    value_start: int
    value_end: int


class ObjectSpan(NamedTuple):
    """An object: open and close are the offsets of its braces."""

    open: int
    close: int
    members: tuple[Member, ...]

    def named(self, key: str) -> tuple[Member, ...]:
        """All members with this key: more than one where a key is repeated."""
        return tuple(member for member in self.members if member.key == key)

    def position(self, member: Member) -> int:
        """The index of a member of this object."""
        return self.members.index(member)

    def end_before(self, index: int) -> int:
        """Where the token before the member at `index` ends: the earlier value, or the opening brace."""
        return self.members[index - 1].value_end if index else self.open + 1


class Style(NamedTuple):
    """How new members are written: around the colon, between members on one line, inside braces on one line."""

    colon: str = ": "
    comma: str = ", "
    padding: str = ""
    newline: str = "\n"
    unit: str = DEFAULT_UNIT


def text_decoder() -> "JSONDecoder":
    """The standard decoder, with numbers left as text so that none is too long and none is rounded."""
    from json import JSONDecoder

    return JSONDecoder(parse_int=str, parse_float=str)


def skip_whitespace(text: str, index: int) -> int:
    """The offset of the next token at or after `index`, len(text) at the end."""
    while index < len(text) and text[index] in WHITESPACE:
        index += 1
    return index


def scan_object(text: str, start: int) -> ObjectSpan:
    """The object whose opening brace stands at `start`, with the members of its own level."""
    decoder = text_decoder()
    members = []
    index = skip_whitespace(text, start + 1)
    while text[index] != "}":
        key, key_end = decoder.raw_decode(text, index)
        value_start = skip_whitespace(text, skip_whitespace(text, key_end) + 1)
        value_end = decoder.raw_decode(text, value_start)[1]
        members.append(Member(str(key), index, key_end, value_start, value_end))
        index = skip_whitespace(text, value_end)
        if text[index] == ",":
            index = skip_whitespace(text, index + 1)
    return ObjectSpan(start, index, tuple(members))


def scan_array(text: str, start: int) -> tuple[int, ...]:
    """The offsets of the elements of the array whose bracket stands at `start`."""
    decoder = text_decoder()
    elements = []
    index = skip_whitespace(text, start + 1)
    while text[index] != "]":
        elements.append(index)
        index = skip_whitespace(text, decoder.raw_decode(text, index)[1])
        if text[index] == ",":
            index = skip_whitespace(text, index + 1)
    return tuple(elements)


def scan_root(text: str) -> ObjectSpan:
    """The top-level object of a text that is known to be one object."""
    return scan_object(text, skip_whitespace(text, 0))


def objects_below(text: str, span: ObjectSpan) -> Iterator[ObjectSpan]:
    """`span` and the objects that are members of it at any depth, in the order of the text; none inside arrays."""
    yield span
    for member in span.members:
        if text[member.value_start] == "{":
            yield from objects_below(text, scan_object(text, member.value_start))


def line_indentation(text: str, offset: int) -> str:
    """The blanks and tabs at the start of the line on which `offset` lies."""
    start = text.rfind("\n", 0, offset) + 1
    line = text[start:offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def rest_of_line(gap: str) -> str:
    """The whitespace up to the first line break, "" where there is none."""
    head, found, _ = gap.partition("\n")
    return head.removesuffix("\r") if found else ""


def one_line_break(gap: str) -> str:
    """Whitespace with at most one line break: blank lines between members are not repeated."""
    if "\n" not in gap:
        return gap
    newline = "\r\n" if "\r\n" in gap else "\n"
    return newline + gap[gap.rfind("\n") + 1 :]


def gap_before(text: str, span: ObjectSpan, index: int) -> str:
    """What stands before the key of a member: whitespace, and the comma unless it is the first."""
    return text[span.end_before(index) : span.members[index].key_start]


def is_multiline(text: str, span: ObjectSpan) -> bool:
    """Whether the members stand on lines of their own; judged by the last one, behind which new ones go."""
    return bool(span.members) and "\n" in gap_before(text, span, len(span.members) - 1)


def is_on_one_line(text: str, start: int) -> bool:
    """Whether a filled object stands at `start`, on one line."""
    if text[start] != "{":
        return False
    span = scan_object(text, start)
    return bool(span.members) and "\n" not in text[span.open : span.close]


def depth_of(text: str, start: int) -> int:
    """How many levels of filled objects the value at `start` has, itself included; arrays have none."""
    return _levels(text_decoder().raw_decode(text, start)[0])


def _levels(value: object) -> int:
    return 1 + max(map(_levels, value.values())) if isinstance(value, dict) and value else 0


def unit_of(text: str, span: ObjectSpan) -> str:
    """The indentation that one level adds inside `span`, "" where it adds none or its members share a line."""
    if not is_multiline(text, span):
        return ""
    inner = line_indentation(text, span.members[-1].key_start)
    outer = line_indentation(text, span.open)
    return inner[len(outer) :] if inner.startswith(outer) else ""


def style_of(text: str, span: ObjectSpan, root: ObjectSpan) -> Style:
    """How to write a new member of `span`, learnt from its last member, else from the first of the file."""
    units = (unit for each in chain((span,), objects_below(text, root)) if (unit := unit_of(text, each)))
    first_break = text.find("\n")
    newline = "\r\n" if first_break > 0 and text[first_break - 1] == "\r" else "\n"
    model = span if span.members else root
    if not model.members:
        return Style(newline=newline, unit=next(units, DEFAULT_UNIT))
    last = model.members[-1]
    colon = text[last.key_end : last.value_start]
    if "\n" in colon:
        colon = ": "
    comma = ", " if colon[-1] in " \t" else ","
    braces = scan_object(text, last.value_start) if is_on_one_line(text, last.value_start) else model
    return Style(colon, comma, _padding(text, braces), newline, next(units, DEFAULT_UNIT))


def _padding(text: str, span: ObjectSpan) -> str:
    """The blanks inside the braces of an object on one line."""
    gap = text[span.open + 1 : span.members[0].key_start]
    return gap if gap.strip(" ") == "" else ""
