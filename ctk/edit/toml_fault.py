"""Says in plain words why a text is not TOML, and where; reads no file and repairs nothing."""

import re
from typing import TYPE_CHECKING, NamedTuple

from ctk.edit.text import position
from ctk.errors import ParseFault

if TYPE_CHECKING:
    from ctk.edit.toml_scan import Member, Section

_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)\s*\Z")


class _Cause(NamedTuple):
    """line and column are 1-based; offset counts characters of the text."""

    text: str
    offset: int


def parse_fault(text: str, path: str, error: Exception) -> ParseFault:
    """The error for people. `error` is what tomllib raised on `text`."""
    words, offset = _tomllib_words(text, error)
    cause = _other_format(text, offset) or _Cause(words, offset)
    if cause.text is words and not isinstance(error, RecursionError):
        cause = _repeated(text, offset) or cause
    line, column = position(text, cause.offset)
    return ParseFault(
        f"cannot read {path}: line {line}, column {column}: {cause.text}",
        hint=f"Correct {path} and run the command again. Nothing was changed.",
        path=path,
        line=line,
        column=column,
    )


def _tomllib_words(text: str, error: Exception) -> tuple[str, int]:
    """tomllib's own sentence without its place, and the place as an offset (it counts \\r\\n as one character)."""
    if isinstance(error, RecursionError):
        return "values are nested too deeply", 0
    words = str(error)
    place = _PLACE.search(words)
    if place is None:
        return _lower(words), 0
    words = _lower(words[: place.start()])
    if place[1] is None:
        return f"{words} (the text ends too early)", len(text.rstrip())
    line_start = 0
    for _ in range(int(place[1]) - 1):
        line_start = text.find("\n", line_start) + 1
    return words, min(line_start + int(place[2]) - 1, len(text))


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:]


def _other_format(text: str, offset: int) -> _Cause | None:
    """A Go template, HTML or JSON, which people save under the wrong name."""
    start = len(text) - len(text.lstrip())
    template = _template_offset(text, offset)
    if template is not None:
        return _Cause("this is a Go template, not TOML", template)
    if text.startswith("<", start):
        return _Cause("this is HTML or XML, not TOML", start)
    if text.startswith("{", start):
        return _Cause("this is JSON, not TOML", start)
    return None


def _template_offset(text: str, offset: int) -> int | None:
    """Where "{{" stands: on the line with the error, else on the first line that is no comment."""
    error_line = text.rfind("\n", 0, offset) + 1
    first = None
    line_start = 0
    for line in text.split("\n"):
        column = line.find("{{")
        if column >= 0 and not line.lstrip().startswith("#"):
            if line_start == error_line:
                return line_start + column
            first = line_start + column if first is None else first
        line_start += len(line) + 1
    return first


def _repeated(text: str, offset: int) -> _Cause | None:
    """A table or key that stands there twice: both places. Nothing if the fault is of another kind."""
    from ctk.edit.toml_scan import ScanFault, scan

    line_end = text.find("\n", offset)
    try:
        document = scan(text if line_end < 0 else text[: line_end + 1])
    except ScanFault:
        return None
    statements: list[Section | Member] = []
    for section in document.sections:
        statements.extend([section] if section.number else [])
        statements.extend(section.members)
    if not statements or statements[-1].start > offset:
        return None
    return _clash(text, statements[:-1], statements[-1])


def _clash(text: str, earlier: "list[Section | Member]", last: "Section | Member") -> _Cause | None:
    """The earlier statement that the last one repeats, else the one that gives its place to something else."""
    from ctk.edit.toml_scan import Section

    is_table = isinstance(last, Section)
    word = f"the table [{_name(last)}]" if is_table else f"the key {_name(last)}"
    for statement in earlier:
        if statement.path == last.path and isinstance(statement, Section) == is_table:
            line = position(text, statement.start)[0]
            return _Cause(f"{word} stands here a second time, the first one is in line {line}", last.start)
    for statement in earlier:
        shorter = min(len(statement.path), len(last.path))
        below = not isinstance(statement, Section) and statement.path[:shorter] == last.path[:shorter]
        if below or _name(statement) == _name(last):
            line = position(text, statement.start)[0]
            return _Cause(f"{word} cannot stand beside {_name(statement)} in line {line}", last.start)
    return None


def _name(statement: "Section | Member") -> str:
    from ctk.edit.toml_render import dotted

    return dotted(tuple(key for key in statement.path if isinstance(key, str)))
