"""The flags of a daemon's command line as values, each with the place it comes from; no I/O."""

import re
from collections.abc import Iterator, Sequence

from ctk.engines.installations import Daemon
from ctk.facts.engines import EngineFlag
from ctk.host.unit_text import Word

SECRET_NAME = r"(?i)(token|secret|passw|credential|api[-_]?key)[^=]*=(?=.)"  # noqa: S105 - a pattern of names, no secret
CREDENTIALS_IN_URL = r"(?<=://)[^/@\s]+@"
MASK = "***"


def parse_flags(words: Sequence[Word], daemon: Daemon) -> tuple[EngineFlag, ...]:
    """All flags behind the program's name, short names spelled out.

    None of the daemons takes arguments, so a word without a dash behind a flag is that flag's value.
    """
    flags = []
    pending = list(words[1:])[::-1]
    while pending:
        word = pending.pop()
        if word.text == "--":
            break
        if not word.text.startswith("-") or word.text == "-":
            continue
        for name, value in _split_flag(word.text, daemon):
            if value is None and pending and not pending[-1].text.startswith("-"):
                value = pending.pop().text
            flags.append(EngineFlag(name=name, value=mask_secrets(value or ""), origin=word.origin, line=word.line))
    return tuple(flags)


def _split_flag(text: str, daemon: Daemon) -> Iterator[tuple[str, str | None]]:
    """(long name, value) of one word; None = the value, if any, is the next word."""
    aliases = dict(daemon.aliases)
    body = text.lstrip("-")
    name, equals, value = body.partition("=")
    if text.startswith("--") or not daemon.clusters or not body:
        yield aliases.get(name, name), value if equals else None
        return
    while body:
        letter, body = body[0], body[1:]
        long_name = aliases.get(letter, letter)
        if letter in daemon.switches and not body.startswith("="):
            yield long_name, "" if body else None
            continue
        yield long_name, body.removeprefix("=") if body else None
        return


def mask_secrets(value: str) -> str:
    """The value without what nobody but the daemon should see: passwords in addresses, tokens in log options."""
    match = re.search(SECRET_NAME, value)
    if match:
        value = value[: match.end()] + MASK
    return re.sub(CREDENTIALS_IN_URL, MASK + "@", value)


def last_value(flags: Sequence[EngineFlag], name: str) -> EngineFlag | None:
    """The flag that counts when one is given more than once; None when it is not given."""
    found = [flag for flag in flags if name and flag.name == name]
    return found[-1] if found else None


def describe_origin(flag: EngineFlag) -> str:
    """Where a flag was found, for people: "/etc/default/docker line 2 (--config-file)"."""
    place = flag.origin if flag.line is None else f"{flag.origin} line {flag.line}"
    return f"{place} (--{flag.name})"
