"""What `ctk config set` and its kin ask for, as edits of the text; knows the settings, reads no file."""

from collections.abc import Callable, Mapping, Sequence

from ctk.edit import toml
from ctk.edit.compare import is_equal, lookup
from ctk.errors import UsageFault
from ctk.record import Record
from ctk.toolkit.document import HostDefaults, set_key, shown, unset_key
from ctk.toolkit.problems import Problem, check_document, refuse_broken
from ctk.toolkit.settings import Setting, Value, find_setting, nearest_key
from ctk.toolkit.values import parse_value

DELETE_WORD = "nil"  # nvidia-ctk: features.NAME=nil takes a feature out


class Assignment(Record):
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


def edit_text(
    text: str, path: str, assignments: Sequence[Assignment], host: HostDefaults, original: Callable[[], str | None]
) -> tuple[str, tuple[Problem, ...]]:
    """The text after the assignments, in their order, and what is wrong in it.

    original: gives the text from before ctk first changed the file, None if nothing tells. Raises ParseFault for a
    file that is not TOML, or is built wrongly in another key than those of the assignments; UsageFault if the result
    would hold a new error.
    """
    content = toml.load(text, path)
    before = check_document(text, content, host)
    assigned = {assignment.path: assignment for assignment in assignments}
    refuse_broken(path, (problem for problem in before if problem.path not in assigned))
    new = text
    for assignment in assignments:
        if assignment.value is None:
            new = unset_key(new, assignment.path, original, host)
        elif new != text or not is_equal(lookup(content, assignment.path), assignment.value):
            new = set_key(new, assignment.path, assignment.value)
    after = before if new == text else check_document(new, toml.load(new, path), host)
    _refuse_new_errors(assigned, before, after)
    return new, after


def _refuse_new_errors(
    assigned: Mapping[tuple[str, ...], Assignment], before: tuple[Problem, ...], after: tuple[Problem, ...]
) -> None:
    known = {(problem.path, problem.text) for problem in before if problem.path not in assigned}
    for problem in after:
        if not problem.is_error or (problem.path, problem.text) in known:
            continue
        ours = assigned.get(problem.path)
        if ours is not None and ours.value is not None:
            message = f"cannot set {problem.key} to {shown(ours.value)}: {problem.text}"
        else:
            message = f"cannot do this: {problem.key} would then be wrong: {problem.text}"
        raise UsageFault(message, hint="Nothing was changed.")
