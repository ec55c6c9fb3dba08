"""Random TOML texts in every form and spelling, for properties; it knows nothing of the editor."""

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st

NAMES = ("a", "b", "c", "runc", "d-1", "io.x.v1", "x y", "é", "", 'q"t', "0")
FILLERS = ("", "", "", "  ", "\t", "# plain", "# [fake]", "  # a = 1", "#b = 2", "# [fake.table", "#", "# {{ x }}")
SCALARS = (
    "1",
    "-0",
    "0xFF",
    "1_000",
    "1.5",
    "-0.0",
    "nan",
    "inf",
    "true",
    "false",
    "1979-05-27T07:32:00Z",
    "1979-05-27 07:32:00.5",
    "1979-05-27",
    "07:32:00",
    '"text"',
    '"# no comment [x]"',
    '"esc \\" \\u00e9 \\\\"',
    "'lit # [x]'",
    "''",
    '""',
)
LONG = (
    '"""\n[fake]\nx = 1 # y\n"""',
    '"""one""two \\\n   three """""',
    "'''\n[a]\n# ' '' \n'''''",
    '""""""',
)

Item = TypeVar("Item")


class Choose(Protocol):
    """Takes one of several things, by chance."""

    def __call__(self, choices: Sequence[Item], /) -> Item: ...


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A whole text: half of them small, chosen so that a failing one shrinks, half of them large, chosen by a seed."""
    if draw(st.booleans()):
        return _text(lambda choices: draw(st.sampled_from(choices)), 3)
    return _text(random.Random(draw(st.integers(0, 2**32))).choice, 6)


def _text(choose: Choose, size: int) -> str:
    """A text with "\\n", "\\r\\n" or both, with or without a final newline."""
    writer = _Writer(choose, size)
    writer.section((), writer.number(size), 0)
    lines = [line for block in writer.blocks(choose((False, True))) for line in block]
    ends = choose(("\n", "\n", "\r\n", "mixed"))
    text = "".join(line + (choose(("\n", "\r\n")) if ends == "mixed" else ends) for line in lines)
    if ends == "\r\n":
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return text.rstrip("\r\n") if choose((False, False, False, True)) else text


class _Writer:
    """Collects the lines of sections; those below an array of tables stay behind it."""

    def __init__(self, choose: Choose, size: int) -> None:
        self.choose = choose
        self.size = size
        self.top: list[str] = []
        self.groups: list[list[str]] = []
        self.group: list[str] | None = None
        self.parted = choose((False, True))
        self.indented = choose(("", "", "  ", "\t"))

    def blocks(self, shuffled: bool) -> list[list[str]]:
        groups = list(self.groups)
        if shuffled:
            groups = [groups.pop(self.number(len(groups) - 1)) for _ in self.groups]
        return [self.top, *groups, self.fillers()]

    def pick(self, *choices: str) -> str:
        return self.choose(choices)

    def flip(self) -> bool:
        return self.choose((False, True))

    def number(self, most: int) -> int:
        return self.choose(range(most + 1))

    def names(self, count: int) -> list[str]:
        left = list(NAMES)
        return [left.pop(self.number(len(left) - 1)) for _ in range(count)]

    def fillers(self) -> list[str]:
        return [self.choose(FILLERS) for _ in range(self.choose((0, 0, 1, 1, 2, 3)))]

    def key(self, name: str) -> str:
        forms = [f'"{name}"'] if '"' not in name else []
        if name and all(character.isascii() and (character.isalnum() or character in "-_") for character in name):
            forms += [name, name, name]
        return self.pick(*forms, f"'{name}'")

    def keys(self, path: tuple[str, ...]) -> str:
        return self.pick(".", ".", ".", " . ", "\t.").join(map(self.key, path))

    def section(self, path: tuple[str, ...], count: int, depth: int) -> None:
        """A table by header (or the top level); its sub-tables that are headers come behind its keys."""
        body: list[str] = []
        later: list[tuple[str, ...]] = []
        for name in self.names(count):
            form = self.pick(
                "scalar", "scalar", "scalar", "long", "array", "inline", "dotted", "header", "header", "tables"
            )
            if form in ("header", "tables") and depth < 3:
                later.append((form, name))
            else:
                body += self.fillers() + self.member(name, form, self.indented * depth)
                if form == "dotted" and depth < 3 and self.flip():
                    later.append(("below-dotted", name))
        self.emit(path, body, depth)
        for form, name in later:
            if form == "below-dotted":
                self.section((*path, name, "sub"), 1, depth + 2)
            elif form == "header":
                self.section((*path, name), self.number(self.size), depth + 1)
            else:
                self.tables((*path, name), depth + 1)

    def emit(self, path: tuple[str, ...], body: list[str], depth: int) -> None:
        if not path:
            self.top += self.fillers() + body
            return
        if not body and self.group is None and self.flip():
            return  # the table is implied by its sub-tables, or not there
        lines = ([""] if self.parted else []) + self.fillers() + [self.header(path, depth, "[", "]"), *body]
        if self.group is None:
            self.groups.append(lines)
        else:
            self.group += lines

    def header(self, path: tuple[str, ...], depth: int, opening: str, closing: str) -> str:
        blank = self.pick("", "", " ")
        indent = self.indented * max(depth - 1, 0)
        return f"{indent}{opening}{blank}{self.keys(path)}{blank}{closing}{self.pick('', '', ' # behind')}"

    def tables(self, path: tuple[str, ...], depth: int) -> None:
        outer = self.group
        group: list[str] = outer if outer is not None else []
        self.group = group
        for _ in range(self.choose((1, 2))):
            group += [*self.fillers(), self.header(path, depth, "[[", "]]")]
            for name in self.names(self.number(2)):
                group += self.member(name, self.pick("scalar", "inline"), self.indented * depth)
            if self.flip():
                self.section((*path, "sub"), 1, 3)
        self.group = outer
        if outer is None:
            self.groups.append(group)

    def member(self, name: str, form: str, indent: str) -> list[str]:
        equals = self.pick(" = ", " = ", "=", "  =\t")
        behind = self.pick("", "", "", " # behind", "\t#x", "  ")
        if form == "dotted":
            names = self.names(self.choose((1, 2, 3)))
            return [f"{indent}{self.keys((name, other))}{equals}{self.scalar()}{behind}" for other in names]
        return f"{indent}{self.key(name)}{equals}{self.value(form)}{behind}".split("\n")

    def scalar(self) -> str:
        return self.pick(*SCALARS)

    def value(self, form: str) -> str:
        if form == "long":
            return self.pick(*LONG)
        if form == "array":
            return self.array()
        return self.inline(0) if form == "inline" else self.scalar()

    def array(self) -> str:
        items = [self.pick(self.scalar(), "[1, [2]]", "{ a = 1 }") for _ in range(self.number(3))]
        if self.flip():
            blank = self.pick("", " ")
            return f"[{blank}{', '.join(items)}{self.pick('', ',') if items else ''}{blank}]"
        comments = [self.pick("", "", " # ] [x]") for _ in items]
        commas = [","] * (len(items) - 1) + [self.pick("", ",")] if items else []
        lines = [f"  {item}{comma}{comment}" for item, comma, comment in zip(items, commas, comments, strict=True)]
        return "\n".join([self.pick("[", "[ # open"), *lines, self.pick("]", " ]")])

    def inline(self, depth: int) -> str:
        members = []
        for name in self.names(self.number(2)):
            deeper = depth < 2 and self.flip()
            path = (name, "z") if self.choose((False, False, True)) else (name,)
            members.append(f"{self.keys(path)} = {self.inline(depth + 1) if deeper else self.scalar()}")
        blank = self.pick("", " ")
        return f"{{{blank}{', '.join(members)}{blank}}}"
