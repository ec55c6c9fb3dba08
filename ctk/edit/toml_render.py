"""Writes keys and values as TOML; what is not plain is tomlkit's business, imported only then. It places nothing."""

import re
from collections.abc import Mapping

from ctk.edit.compare import Path

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")
# Printable ASCII without quote and backslash: the same between quotes as outside, no rule is needed.
_PLAIN_TEXT = re.compile(r"[ !#-\[\]-~]*\Z")
_LITERAL_TEXT = re.compile(r"[ -&(-~]*\Z")


def render_value(value: object) -> str:
    """One value on one line. Raises TypeError for what TOML cannot hold (None)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str) and _PLAIN_TEXT.match(value):
        return f'"{value}"'
    if isinstance(value, Mapping):
        members = ", ".join(f"{render_key(key)} = {render_value(member)}" for key, member in value.items())
        return f"{{ {members} }}" if members else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(render_value, value))}]"
    if value is None:
        raise TypeError("TOML has no null")
    import tomlkit

    return tomlkit.item(value).as_string()


def render_key(key: str, quote: str = "") -> str:
    """One piece of a key; quote is the neighbours' sign, used where the key needs one (or always, with `quote`)."""
    if not quote and _BARE_KEY.match(key):
        return key
    if quote == "'" and _LITERAL_TEXT.match(key):
        return f"'{key}'"
    if _PLAIN_TEXT.match(key):
        return f'"{key}"'
    import tomlkit

    return tomlkit.key(key).as_string()


def is_bare(key: str) -> bool:
    """Whether the piece of a key stands without quotes."""
    return bool(_BARE_KEY.match(key))


def dotted(path: Path) -> str:
    """A path as people write it."""
    return ".".join(map(render_key, path))
