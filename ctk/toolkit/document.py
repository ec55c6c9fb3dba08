"""config.toml as text: the default document, effective values, and edits that touch one key's line; reads no file."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ctk.edit import toml
from ctk.errors import ParseFault
from ctk.toolkit.settings import SETTINGS, Setting, Value, find_setting, nearest_key
from ctk.toolkit.values import type_fault, value_fault

FILE, DEFAULT = "file", "default"


class HostDefaults(NamedTuple):
    """The defaults that depend on the distribution, as NVIDIA's toolkit chooses them.

    ldconfig: @/sbin/ldconfig.real where that exists (Debian, Ubuntu), else @/sbin/ldconfig. user: root:video where
    os-release says suse.
    """

    ldconfig: str = "@/sbin/ldconfig"
    user: str = ""

    def of(self, setting: Setting) -> Value | None:
        """The default of one setting on this host."""
        if setting.key == "nvidia-container-cli.ldconfig":
            return self.ldconfig
        if setting.key == "nvidia-container-cli.user":
            return self.user
        return setting.default


class Effective(NamedTuple):
    """The value in force of one setting: None = absent; source is file or default."""

    setting: Setting
    value: object | None
    source: str


class Problem(NamedTuple):
    """One thing wrong in a file. line and column are 1-based.

    blocks: the file is built wrongly (a value of the wrong type), so it is not edited. is_error False = a warning.
    """

    key: str
    text: str
    is_error: bool
    blocks: bool = False
    line: int | None = None
    column: int | None = None


def render_default(host: HostDefaults) -> str:
    """The whole default document: keys sorted, those that are not set by default behind a `#`."""
    from ctk.edit.toml_render import render_value

    tables: dict[tuple[str, ...], list[str]] = {}
    for setting in sorted(SETTINGS, key=lambda row: row.path):
        value = host.of(setting)
        commented = setting.shown is not None and not (setting.key.endswith(".user") and host.user)
        shown = setting.shown if commented else value
        if shown is not None:
            line = f"{'#' if commented else ''}{setting.path[-1]} = {render_value(shown)}"
            tables.setdefault(setting.path[:-1], []).append(line)
    parts = []
    for table in sorted(tables):
        header = [f"[{'.'.join(table)}]"] if table else []
        parts.append("\n".join([*header, *tables[table]]))
    return "\n\n".join(parts) + "\n"


def effective(content: Mapping[str, object], host: HostDefaults) -> tuple[Effective, ...]:
    """Every setting with the value in force and where it comes from."""
    return tuple(effective_of(content, setting, host) for setting in SETTINGS)


def effective_of(content: Mapping[str, object], setting: Setting, host: HostDefaults) -> Effective:
    """One setting's value in force."""
    value = value_at(content, setting.path)
    if value is not None:
        return Effective(setting, value, FILE)
    return Effective(setting, host.of(setting), DEFAULT)


def value_at(content: Mapping[str, object], path: tuple[str, ...]) -> object | None:
    """The value at a path, None where there is none."""
    value: object = content
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def unknown_keys(content: Mapping[str, object]) -> tuple[str, ...]:
    """The keys of a file that no setting has, dotted."""
    known = {setting.key for setting in SETTINGS}
    return tuple(key for key in _leaves(content, ()) if key not in known)


def _leaves(table: Mapping[str, object], path: tuple[str, ...]) -> Iterator[str]:
    for name, value in table.items():
        inner = (*path, name)
        if isinstance(value, Mapping) and find_setting(".".join(inner)) is None:
            yield from _leaves(value, inner)
        else:
            yield ".".join(inner)


def check_document(text: str, content: Mapping[str, object], host: HostDefaults) -> tuple[Problem, ...]:
    """Everything wrong in a file that needs no look at the host: types, values, unknown keys."""
    values = {row.setting.key: row.value for row in effective(content, host)}
    problems = []
    for setting in SETTINGS:
        blocked = _not_a_table(content, setting)
        if blocked is not None:
            problems.append(_problem(text, blocked, "it must be a table", True, blocks=True))
            continue
        value = value_at(content, setting.path)
        fault = "" if value is None else value_fault(setting, value, values)
        if fault:
            problems.append(_problem(text, setting.path, fault, True, blocks=bool(type_fault(setting, value))))
    for key in unknown_keys(content):
        near = nearest_key(key)
        words = f"no setting of the toolkit{f'; did you mean {near}?' if near else ''}"
        if not any(problem.key == key for problem in problems):
            problems.append(_problem(text, tuple(key.split(".")), words, False))
    return tuple(dict.fromkeys(problems))


def _not_a_table(content: Mapping[str, object], setting: Setting) -> tuple[str, ...] | None:
    for length in range(1, len(setting.path)):
        value = value_at(content, setting.path[:length])
        if value is not None and not isinstance(value, Mapping):
            return setting.path[:length]
    return None


def _problem(text: str, path: tuple[str, ...], words: str, is_error: bool, *, blocks: bool = False) -> Problem:
    line, column = toml.position_of(text, path) or (None, None)
    return Problem(".".join(path), words, is_error, blocks, line, column)


def set_key(text: str, path: tuple[str, ...], value: Value) -> str:
    """One key with a value, in the place of its commented line if the file has one; the same text if it is so.

    Raises ParseFault where something else than a table is in the way.
    """
    return toml.uncomment_key(text, path, value)


def unset_key(text: str, path: tuple[str, ...], original: str | None, host: HostDefaults) -> str:
    """The text without the key; the same text if it is not set.

    original: the text from before ctk first changed the file, None if nothing tells. What stood there for the key, a
    comment or nothing, comes back; else the default document decides.
    """
    if value_at(toml.load(text), path) is None:
        return text
    told = original is not None and value_at(toml.load(original), path) is None
    model = original if told and original is not None else render_default(host)
    commented = toml.comment_key_as_in(text, path, model)
    if commented is not None:
        return commented
    parents = (path[:length] for length in range(len(path) - 1, 0, -1))
    made = tuple(parent for parent in parents if told and not toml.is_written(model, parent))
    return toml.remove(text, path, empty_parents=made)


def refuse_broken(path: str, problems: tuple[Problem, ...]) -> None:
    """Raise ParseFault for the first problem that blocks: a file that is built wrongly is never rewritten."""
    for problem in problems:
        if problem.blocks:
            where = f"line {problem.line}, column {problem.column}: " if problem.line else ""
            raise ParseFault(
                f"cannot use {path}: {where}{problem.key}: {problem.text}",
                hint=f"Correct it, or look at all of it with: ctk config validate {path}. Nothing was changed.",
                path=path,
                line=problem.line,
                column=problem.column,
            )
