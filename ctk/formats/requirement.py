"""The language in which images say what driver they need (NVIDIA_REQUIRE_CUDA and others); pure, it knows no image.

Alternatives are separated by blanks, their terms by commas: "cuda>=12.6 brand=tesla,driver>=535,driver<536". The rules
are those of nvidia-container-cli --require (libnvidia-container, src/cli/dsl.c and libnvc.c).
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

CUDA, DRIVER, ARCHITECTURE, BRAND = "cuda", "driver", "arch", "brand"
NAMES = (CUDA, DRIVER, ARCHITECTURE, BRAND)
TERM = re.compile(r"([^=!<>]*)([=!<>]+)(.*)", re.DOTALL)
OPERATORS = {"=": "=", "!=": "!=", "!": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
"""A lone "!" has always been taken for "!="."""
VERSION = re.compile(r"[0-9.]+")


class RequirementFault(ValueError):
    """A term that is none; the text is the term."""


class Term(NamedTuple):
    """One comparison. name: one of NAMES; operator: one of the values of OPERATORS; text: as it was written."""

    name: str
    operator: str
    value: str
    text: str


class DeviceFacts(NamedTuple):
    """What a device and its driver are. None = not known, or no device: then every term about it holds."""

    cuda: str | None = None  # the newest version the driver runs: 13.0
    driver: str | None = None
    architecture: str | None = None  # the compute capability: 8.0
    brand: str | None = None


def parse_term(text: str) -> Term:
    """Raises RequirementFault."""
    found = TERM.fullmatch(text)
    if found is None or found[1].lower() not in NAMES or found[2] not in OPERATORS:
        raise RequirementFault(text)
    name, operator, value = found[1].lower(), OPERATORS[found[2]], found[3]
    is_word = name == BRAND and operator in ("=", "!=") and bool(value)
    is_version = name != BRAND and VERSION.fullmatch(value) is not None
    if not is_word and not is_version:
        raise RequirementFault(text)
    return Term(name, operator, value, text)


def split_alternatives(text: str) -> tuple[tuple[str, ...], ...]:
    """The terms of each alternative, unparsed; empty pieces are left out."""
    alternatives = (tuple(term for term in words.split(",") if term) for words in text.split(" "))
    return tuple(terms for terms in alternatives if terms)


def is_met(text: str, facts: DeviceFacts) -> bool:
    """Whether one alternative holds; an empty text does.

    A term is read when it is its turn, so one that is none matters only if nothing before it has settled the answer.
    Raises RequirementFault.
    """
    alternatives = split_alternatives(text)
    return not alternatives or any(all(holds(parse_term(term), facts) for term in terms) for terms in alternatives)


def holds(term: Term, facts: DeviceFacts) -> bool:
    """One comparison. Raises RequirementFault when the host's own value is no version."""
    values = {CUDA: facts.cuda, DRIVER: facts.driver, ARCHITECTURE: facts.architecture, BRAND: facts.brand}
    have = values[term.name]
    if have is None:
        return True
    if term.name == BRAND:
        return (have.lower() == term.value.lower()) is (term.operator == "=")
    if not VERSION.fullmatch(have):
        raise RequirementFault(term.text)
    return _holds(compare_versions(have, term.value), term.operator)


def _holds(order: int, operator: str) -> bool:
    if operator in ("=", "!="):
        return (order == 0) is (operator == "=")
    if order == 0:
        return operator.endswith("=")
    return (order < 0) is operator.startswith("<")


def compare_versions(one: str, other: str) -> int:
    """-1, 0 or 1, number by number; what one of them lacks at its end counts as zero."""
    left, right = (list(_numbers(text)) for text in (one, other))
    length = max(len(left), len(right))
    left += [0] * (length - len(left))
    right += [0] * (length - len(right))
    return (left > right) - (left < right)


def _numbers(text: str) -> Iterable[int]:
    return (int(part) if part else 0 for part in text.split("."))


def first_unmet(texts: Iterable[str], facts: DeviceFacts) -> str | None:
    """What the error names, the first alternative of the first text that is not met; None when all are met."""
    for text in texts:
        if not is_met(text, facts):
            return ",".join(split_alternatives(text)[0])
    return None


def nearest_miss(text: str, facts: DeviceFacts) -> tuple[Term, ...]:
    """The failing terms of the alternative that lacks least, the first of several; empty when the text is met.

    Raises RequirementFault.
    """
    misses = []
    for terms in split_alternatives(text):
        failing = tuple(term for term in map(parse_term, terms) if not holds(term, facts))
        if not failing:
            return ()
        misses.append(failing)
    return min(misses, key=len) if misses else ()
