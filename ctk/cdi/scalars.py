"""What a YAML value without quotes means to the engines' library: go-yaml v2's reading of YAML 1.1; it reads no file.

It differs from PyYAML's: y and n are yes and no, 0o17 is a number, 12:30:45 and 2001-01-01 are text.
"""

import re

PLAIN = "plain"
"""The tag of a scalar without quotes."""
STRING = "tag:yaml.org,2002:str"
NULL, BOOLEAN, NUMBER, TEXT = "null", "boolean", "number", "text"

YES = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
NO = frozenset(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"))
NOTHING = frozenset(("", "~", "null", "Null", "NULL"))
PLAIN_TEXT_BEGINNINGS = frozenset("/abcdeghijklmpqrsuvwxzABCDEGHIJKLMPQRSUVWXZ")
"""A value that begins so is text whatever follows: most are."""
NUMBER_BEGINNINGS = frozenset("+-.0123456789")
INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
LONGEST_NUMBER = 40


def resolve_plain(text: str) -> tuple[str, object]:
    """The kind, and the value: text, True or False, a number, None."""
    if text[:1] in NUMBER_BEGINNINGS and len(text) <= LONGEST_NUMBER:
        return _resolve_number(text)
    if text in YES or text in NO:
        return BOOLEAN, text in YES
    return (NULL, None) if text in NOTHING else (TEXT, text)


def _resolve_number(text: str) -> tuple[str, object]:
    plain = text.replace("_", "")
    if INTEGER.fullmatch(plain):
        return NUMBER, _integer(plain)
    if FLOAT.fullmatch(plain):
        value = float(plain)
        return (NUMBER, value) if abs(value) < 1e300 else (TEXT, text)
    return TEXT, text


def _integer(text: str) -> int:
    """Go's strconv.ParseInt with base 0: a leading zero is octal, as 0o is."""
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-").lower()
    if digits.startswith("0x"):
        return sign * int(digits[2:], 16)
    if digits.startswith("0b"):
        return sign * int(digits[2:], 2)
    return sign * (int(digits.replace("o", "", 1), 8) if digits.startswith("0") else int(digits))
