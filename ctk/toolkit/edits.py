"""What `ctk config set` and its kin ask for, as edits of the text; knows the settings, reads no file."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ctk.edit import toml
from ctk.errors import UsageFault
from ctk.toolkit.document import HostDefaults, check_document, effective, refuse_broken, set_key, unset_key, value_at
from ctk.toolkit.settings import Setting, Value, find_setting, nearest_key
from ctk.toolkit.values import parse_value, value_fault

DELETE_WORD = "nil"  # nvidia-ctk: features.NAME=nil takes a feature out
Edit = Callable[[str, str], str]
"""Text and path to text."""


class Assignment(NamedTuple):
    """One key and the value it gets; value None = the key goes. setting None: a key that is not ctk's to know."""

    path: tuple[str, ...]
    value: Value | None
    setting: Setting | None


def parse_assignment(text: str, separator: str = ":", allow_unknown: bool = False) -> Assignment:
    """`key=value`, or `key` alone for a boolean. Raises UsageFault for unknown keys and wrong values' types."""
    key, equals, word = text.partition("=")
    setting = find_setting(key)
    if setting is None:
        _refuse_unknown(key, allow_unknown)
        return Assignment(tuple(key.split(".")), _guess(word if equals else None), None)
    if equals and word == DELETE_WORD and key.startswith("features."):
        return Assignment(setting.path, None, setting)
    return Assignment(setting.path, parse_value(setting, word if equals else None, separator), setting)


def parse_key(key: str, allow_unknown: bool = False) -> Assignment:
    """A key to unset. Raises UsageFault for an unknown one."""
    setting = find_setting(key)
    if setting is None:
        _refuse_unknown(key, allow_unknown)
    return Assignment(tuple(key.split(".")), None, setting)


def _refuse_unknown(key: str, allow_unknown: bool) -> None:
    near = nearest_key(key)
    if not key or any(not part for part in key.split(".")):
        raise UsageFault(f"{key!r} is no key", hint="A key looks like nvidia-container-runtime.mode.")
    if not allow_unknown:
        raise UsageFault(
            f"undefined field: {key!r} is no setting of the toolkit{f'; did you mean {near}?' if near else ''}",
            hint="`ctk config explain` lists the settings; --allow-unknown takes any key. Nothing was changed.",
        )


def _guess(word: str | None) -> Value:
    """The value of a key nobody knows: true and false are booleans, all else is text."""
    if word is None or word == "true":
        return True
    return False if word == "false" else word


def edit_text(text: str, path: str, assignments: Iterable[Assignment], host: HostDefaults, original: str | None) -> str:
    """Apply the assignments in order. original: the text from before ctk first changed the file, if known.

    Raises ParseFault for a file that is not TOML or is built wrongly, UsageFault for a value no host can take.
    """
    content = toml.load(text, path)
    refuse_broken(path, check_document(text, content, host))
    new = text
    for assignment in assignments:
        if assignment.value is None:
            new = unset_key(new, assignment.path, original, host)
        elif assignment.setting is not None or value_at(content, assignment.path) != assignment.value:
            new = set_key(new, assignment.path, assignment.value)
    _refuse_values(new, path, assignments, host)
    return new


def _refuse_values(text: str, path: str, assignments: Iterable[Assignment], host: HostDefaults) -> None:
    values: Mapping[str, object] = {row.setting.key: row.value for row in effective(toml.load(text, path), host)}
    for assignment in assignments:
        setting = assignment.setting
        fault = value_fault(setting, assignment.value, values) if setting and assignment.value is not None else ""
        if setting is not None and fault:
            raise UsageFault(
                f"cannot set {setting.key} to {shown(assignment.value)}: {fault}", hint="Nothing was changed."
            )


def shown(value: object) -> str:
    """A value as TOML writes it, for messages and for `config get`."""
    if value is True or value is False:
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(shown(item) for item in value) + "]"
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
