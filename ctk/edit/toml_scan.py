"""Finds where every table, key and value of a valid TOML text stands; it judges nothing and changes nothing."""

import re
from typing import NamedTuple

from ctk.edit.compare import Path

ScanPath = tuple[str | int, ...]
"""A path in which the elements of an array of tables are numbered, so that none is mistaken for a plain table."""

# Unrolled loops: each turn begins with a character that the one before cannot take, so that no text is tried twice.
_IDLE_LINES = re.compile(r"(?:[ \t]*(?:#[^\n]*|\r)?\n)*")
_LAST_IDLE_LINE = re.compile(r"[ \t]*(?:#[^\n]*)?\Z")
_BLANKS = re.compile(r"[ \t]*")
_FILLER = re.compile(r"[ \t\r\n]*(?:#[^\n]*[ \t\r\n]*)*")
_KEY_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\n]*'""")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_REST_OF_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
# The closing quotes of a multi-line string may have up to two more quotes in front of them that are content.
_STRING = re.compile(
    r'"""[^"\\]*(?:(?:\\[\s\S]|"(?!""))[^"\\]*)*"""(?:"{1,2})?'
    r"|'''[^']*(?:'(?!'')[^']*)*'''(?:'{1,2})?"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\n]*'"
)
_BARE = re.compile(r"[^,\]}#\r\n]+")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class ScanFault(ValueError):
    """The text is not valid TOML at `offset`; tomllib, asked first, words the message."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"unexpected text at offset {offset}")
        self.offset = offset


class Value(NamedTuple):
    """A value token, text[start:end]. kind: scalar, array (items, commas by offset) or table (members, commas)."""

    kind: str
    start: int
    end: int
    items: tuple["Value", ...] = ()
    members: tuple["Member", ...] = ()
    commas: tuple[int, ...] = ()


class Member(NamedTuple):
    """One `key = value`. path is whole, holder is the path of the table whose header or braces it stands in.

    start and key_end bound the key as written, parts are its pieces as written. line_start and line_end bound its
    lines, line end included; inside braces both are -1.
    """

    path: ScanPath
    holder: ScanPath
    parts: tuple[str, ...]
    start: int
    key_end: int
    value: Value
    line_start: int = -1
    line_end: int = -1


class Section(NamedTuple):
    """A header and the keys below it; number 0 is what stands before the first header.

    start is the "[", line_end the end of the header's line, end the end of the last key's line (or of the header's).
    """

    number: int
    path: ScanPath
    keys: Path
    parts: tuple[str, ...]
    is_array: bool
    line_start: int
    start: int
    line_end: int
    members: tuple[Member, ...]

    @property
    def end(self) -> int:
        """Where its last key line ends."""
        return self.members[-1].line_end if self.members else self.line_end


class Document(NamedTuple):
    """A text and its sections in the order of the file."""

    text: str
    sections: tuple[Section, ...]

    def section(self, path: Path) -> Section | None:
        """The section with exactly this header; the root for ()."""
        return next((section for section in self.sections if section.path == path and not section.is_array), None)

    def sections_under(self, path: Path) -> list[Section]:
        """The sections of the table at `path` and of all tables below it."""
        depth = len(path)
        return [section for section in self.sections[1:] if section.path[:depth] == path]

    def members(self) -> list[Member]:
        """Every `key = value`, those in inline tables (but not in arrays) behind the one they stand in."""
        found: list[Member] = []
        for section in self.sections:
            _flatten(section.members, found)
        return found

    def member(self, path: Path) -> Member | None:
        """The `key = value` that gives exactly this path its value."""
        return next((member for member in self.members() if member.path == path), None)

    def dotted(self, path: Path) -> list[Member]:
        """The members that make the table at `path` by dotted keys."""
        depth = len(path)
        return [
            member
            for member in self.members()
            if len(member.holder) < depth < len(member.path) and member.path[:depth] == path
        ]

    def next_start(self, section: Section) -> int:
        """Where the line of the next header begins; the end of the text behind the last section."""
        following = section.number + 1
        return self.sections[following].line_start if following < len(self.sections) else len(self.text)


def _flatten(members: tuple[Member, ...], found: list[Member]) -> None:
    for member in members:
        found.append(member)
        if member.value.members:
            _flatten(member.value.members, found)


def lines_of(text: str) -> list[str]:
    """The lines with their ends; only the newline ends a line, unlike str.splitlines."""
    return _LINES.findall(text)


def scan(text: str) -> Document:
    """Locate everything. Raises ScanFault where the text is not TOML at all; it does not look for other errors."""
    scanner = _Scanner(text)
    scanner.run()
    return Document(text, tuple(scanner.sections))


class _Scanner:
    """One pass from the first character to the last."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.sections: list[Section] = []
        self.counts: dict[ScanPath, int] = {}

    def run(self) -> None:
        position = self._section(Section(0, (), (), (), False, 0, 0, 0, ()))
        while position < len(self.text):
            position = self._section(self._header(position))

    def _section(self, header: Section) -> int:
        members: list[Member] = []
        position = header.line_end
        while True:
            position = _IDLE_LINES.match(self.text, position).end()  # type: ignore[union-attr]  # matches nothing too
            if _LAST_IDLE_LINE.match(self.text, position):
                position = len(self.text)
                break
            start = self._skip(_BLANKS, position)
            if self.text.startswith("[", start):
                break
            member, _ = self._member(start, header.path, position)
            members.append(member)
            position = member.line_end
        self.sections.append(header._replace(members=tuple(members)))
        return position

    def _header(self, line_start: int) -> Section:
        start = self._skip(_BLANKS, line_start)
        is_array = self.text.startswith("[[", start)
        parts, position = self._key(self._skip(_BLANKS, start + 1 + is_array))
        keys = tuple(map(read_key, parts))
        position = self._skip(_BLANKS, position)
        closing = "]]" if is_array else "]"
        if not self.text.startswith(closing, position):
            raise ScanFault(position)
        line_end = self._skip(_REST_OF_LINE, position)
        path = self._number(keys, is_array)
        return Section(len(self.sections), path, keys, parts, is_array, line_start, start, line_end, ())

    def _number(self, keys: Path, is_array: bool) -> ScanPath:
        """The path with the number of the current element behind each array of tables."""
        path: ScanPath = ()
        for depth, key in enumerate(keys, 1):
            path = (*path, key)
            if is_array and depth == len(keys):
                self.counts[path] = self.counts.get(path, 0) + 1
            if path in self.counts:
                path = (*path, self.counts[path] - 1)
        return path

    def _member(self, start: int, holder: ScanPath, line_start: int = -1) -> tuple[Member, int]:
        parts, key_end = self._key(start)
        path = holder + tuple(map(read_key, parts))
        value = self._value(self._skip(_EQUALS, key_end), path)
        line_end = -1 if line_start < 0 else self._skip(_REST_OF_LINE, value.end)
        return Member(path, holder, parts, start, key_end, value, line_start, line_end), value.end

    def _key(self, position: int) -> tuple[tuple[str, ...], int]:
        parts: list[str] = []
        while True:
            end = self._skip(_KEY_PART, position)
            parts.append(self.text[position:end])
            dot = _DOT.match(self.text, end)
            if dot is None:
                return tuple(parts), end
            position = dot.end()

    def _value(self, start: int, path: ScanPath) -> Value:
        first = self.text[start : start + 1]
        if first in ("[", "{"):
            return self._container(start, path, first)
        if first in ('"', "'"):
            return Value("scalar", start, self._skip(_STRING, start))
        end = self._skip(_BARE, start)
        return Value("scalar", start, start + len(self.text[start:end].rstrip(" \t")))

    def _container(self, start: int, path: ScanPath, opening: str) -> Value:
        closing = "]" if opening == "[" else "}"
        items: list[Value] = []
        members: list[Member] = []
        commas: list[int] = []
        position = self._skip(_FILLER, start + 1)
        while not self.text.startswith(closing, position):
            if opening == "[":
                items.append(self._value(position, (*path, len(items))))
                position = items[-1].end
            else:
                member, position = self._member(position, path)
                members.append(member)
            position = self._skip(_FILLER, position)
            if self.text.startswith(",", position):
                commas.append(position)
                position = self._skip(_FILLER, position + 1)
            elif not self.text.startswith(closing, position):
                raise ScanFault(position)
        kind = "array" if opening == "[" else "table"
        return Value(kind, start, position + 1, tuple(items), tuple(members), tuple(commas))

    def _skip(self, pattern: re.Pattern[str], position: int) -> int:
        match = pattern.match(self.text, position)
        if match is None:
            raise ScanFault(position)
        return match.end()


def read_key(part: str) -> str:
    """A piece of a key as written, read: quotes off, escapes resolved by tomllib."""
    if part[0] not in "\"'":
        return part
    if part[0] == '"' and "\\" in part:
        import tomllib

        value = tomllib.loads(f"key = {part}")["key"]
        return str(value)
    return part[1:-1]
