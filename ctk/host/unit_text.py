"""The text of systemd units and environment files: assignments, quoting, variables, specifiers; no I/O.

The rules are those of systemd.syntax(7), systemd.service(5) "Command lines" and systemd.exec(5) EnvironmentFile=.
"""

import sys
from collections.abc import Iterator, Mapping

from ctk.record import Record

WHITESPACE = " \t\n\r"
EXEC_PREFIXES = "@-:+!|"
ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
DIGITS = "0123456789abcdef"
NUMERIC_ESCAPES = {"x": (2, 16), "u": (4, 16), "U": (8, 16)}


class Assignment(Record):
    """One `Key=value`. value joins continued lines with newlines; lines are the 1-based numbers of those lines."""

    section: str
    key: str
    value: str
    lines: tuple[int, ...]


class Word(Record):
    """One word of a command line, and the file and 1-based line it comes from."""

    text: str
    origin: str
    line: int | None


class Variable(Record):
    """One environment variable's value, and the file and 1-based line that set it."""

    value: str
    origin: str
    line: int | None


def parse_unit(text: str) -> tuple[Assignment, ...]:
    """All assignments in order. Lines that are none of systemd's are passed over, as systemd does."""
    found = []
    section = ""
    for parts in _logical_lines(text):
        head = parts[0][1].strip()
        if head.startswith("[") and head.endswith("]"):
            section = head[1:-1]
            continue
        key, equals, _ = parts[0][1].partition("=")
        if not equals:
            continue
        values = [parts[0][1][len(key) + 1 :]] + [part for _, part in parts[1:]]
        value = "\n".join(values)
        # Leading blanks go; a newline there stands for a continued line and must stay, to keep the numbers right.
        found.append(Assignment(section, key.strip(), value.lstrip(" \t").rstrip(), tuple(n for n, _ in parts)))
    return tuple(found)


def _logical_lines(text: str) -> Iterator[list[tuple[int, str]]]:
    """Lines joined at a trailing backslash, as (number, text) parts. Comments inside a continued line are dropped."""
    parts: list[tuple[int, str]] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.rstrip("\r")
        if line.lstrip().startswith(("#", ";")):
            continue
        if not parts and not line.strip():
            continue
        continued = line.endswith("\\")
        parts.append((number, line[:-1] if continued else line))
        if not continued:
            yield parts
            parts = []
    if parts:
        yield parts


def parse_words(value: str, lines: tuple[int, ...]) -> tuple[tuple[str, int | None], ...]:
    """Words of an assignment's value, quotes and C escapes undone, each with the number of the line it starts on."""
    words: list[tuple[str, int | None]] = []
    current: list[str] | None = None
    quote = ""
    row = index = begun = 0
    while index < len(value):
        character = value[index]
        index += 1
        if character == "\n":
            row += 1
            character = " "
        if not quote and character in WHITESPACE:
            if current is not None:
                words.append(("".join(current), _line(lines, begun)))
            current = None
            continue
        if current is None:
            current, begun = [], row
        if character == quote:
            quote = ""
        elif not quote and character in "\"'":
            quote = character
        elif character == "\\" and index < len(value):
            plain, index = _unescape(value, index)
            current.append(plain)
        else:
            current.append(character)
    if current is not None:
        words.append(("".join(current), _line(lines, begun)))
    return tuple(words)


def _line(lines: tuple[int, ...], row: int) -> int | None:
    return lines[min(row, len(lines) - 1)] if lines else None


def _unescape(value: str, index: int) -> tuple[str, int]:
    """What the escape whose letter is at index stands for, and where to go on. An unknown one stays as it is."""
    letter = value[index]
    if letter in ESCAPES:
        return ESCAPES[letter], index + 1
    if letter in "\"'\\":
        return letter, index + 1
    start, length, base = (index + 1, *NUMERIC_ESCAPES[letter]) if letter in NUMERIC_ESCAPES else (index, 3, 8)
    digits = value[start : start + length]
    if len(digits) == length and all(digit in DIGITS[:base] + DIGITS[:base].upper() for digit in digits):
        code = int(digits, base)
        if code <= sys.maxunicode:
            return chr(code), start + length
    return "\\" + letter, index + 1


def expand_specifiers(text: str, specifiers: Mapping[str, str]) -> str:
    """%% and the specifiers that are known; any other stays as it is written."""
    if "%" not in text:
        return text
    out = ""
    index = 0
    while index < len(text):
        letter = text[index + 1 : index + 2]
        if text[index] == "%" and (letter == "%" or letter in specifiers) and letter:
            out += "%" if letter == "%" else specifiers[letter]
            index += 2
        else:
            out += text[index]
            index += 1
    return out


def expand_variables(word: Word, environment: Mapping[str, Variable]) -> tuple[Word, ...]:
    """`$NAME` alone becomes as many words as its value has; `${NAME}` is replaced in place; `$$` is a dollar sign.

    A word keeps its own place unless it is a whole variable: then its words come from where that is set.
    """
    name = word.text[1:]
    if word.text.startswith("$") and is_variable_name(name):
        variable = environment.get(name)
        if variable is None:
            return ()
        return tuple(Word(text, variable.origin, variable.line) for text, _ in parse_words(variable.value, ()))
    text, source = _replace_braced(word.text, environment)
    if source is not None and word.text == "${" + word.text[2:-1] + "}":
        return (Word(text, source.origin, source.line),)
    return (word._replace(text=text),)


def _replace_braced(text: str, environment: Mapping[str, Variable]) -> tuple[str, Variable | None]:
    out = ""
    source = None
    index = 0
    while index < len(text):
        end = text.find("}", index)
        if text.startswith("$$", index):
            out += "$"
            index += 2
        elif text.startswith("${", index) and end > 0 and is_variable_name(text[index + 2 : end]):
            source = environment.get(text[index + 2 : end], source)
            out += environment[text[index + 2 : end]].value if text[index + 2 : end] in environment else ""
            index = end + 1
        else:
            out += text[index]
            index += 1
    return out, source


def is_variable_name(name: str) -> bool:
    """Letters, digits and underscores, no digit first."""
    return name.isascii() and name.isidentifier()


def parse_environment(value: str, lines: tuple[int, ...]) -> tuple[tuple[str, str, int | None], ...]:
    """The words of one Environment= as (name, value, line); words that are no assignment are passed over."""
    pairs = []
    for word, line in parse_words(value, lines):
        name, equals, rest = word.partition("=")
        if equals and is_variable_name(name):
            pairs.append((name, rest, line))
    return tuple(pairs)


def parse_environment_file(text: str) -> tuple[tuple[str, str, int], ...]:
    """(name, value, line) of each assignment of an EnvironmentFile, in order.

    Quotes may enclose any part and span lines; a backslash joins lines; unquoted trailing blanks are dropped.
    """
    found = []
    index = 0
    while index < len(text):
        end = text.find("\n", index)
        end = len(text) if end < 0 else end
        head = text[index:end]
        name, equals, _ = head.partition("=")
        if head.lstrip().startswith(("#", ";")) or not equals:
            index = end + 1
            continue
        number = text.count("\n", 0, index) + 1
        value, index = _environment_value(text, index + len(name) + 1)
        if is_variable_name(name.strip()):
            found.append((name.strip(), value, number))
    return tuple(found)


def _environment_value(text: str, index: int) -> tuple[str, int]:
    """The value that starts at index, and the place behind its line."""
    out: list[str] = []
    kept = 0  # what a quote or an escape put in is kept even if it ends in blanks
    quote = ""
    while index < len(text):
        character = text[index]
        index += 1
        if not quote and character == "\n":
            break
        if character == quote:
            quote = ""
        elif not quote and character in "\"'":
            quote = character
        elif character == "\\" and quote != "'" and index < len(text):
            out += _environment_escape(text[index], quote)
            index += 1
        elif quote or out or character not in WHITESPACE:
            out.append(character)
            kept = len(out) if quote else kept
            continue
        else:
            continue
        kept = len(out)
    tail = "".join(out[kept:]).rstrip(WHITESPACE)
    return "".join(out[:kept]) + tail, index


def _environment_escape(character: str, quote: str) -> list[str]:
    """What a backslash before the character means; inside double quotes it protects only the shell's special ones."""
    if character == "\n":
        return []
    if quote == '"' and character not in '"\\`$':
        return ["\\", character]
    return [character]


def strip_prefixes(words: tuple[Word, ...]) -> tuple[tuple[Word, ...], bool]:
    """An ExecStart's words without the signs before the path, and whether variables are expanded.

    With "@" the second word is argv[0] and no argument; ":" turns variables off. systemd.service(5), Table "Special
    executable prefixes".
    """
    if not words:
        return words, True
    text = words[0].text.lstrip(EXEC_PREFIXES)
    signs = words[0].text[: len(words[0].text) - len(text)]
    rest = words[2:] if "@" in signs else words[1:]
    return (words[0]._replace(text=text), *rest), ":" not in signs
