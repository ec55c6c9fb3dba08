"""What is wrong in a config.toml: types, values, unknown keys, each with its place; looks at no host."""

from collections.abc import Iterable, Iterator, Mapping

from ctk.edit import toml
from ctk.errors import ParseFault
from ctk.record import Record
from ctk.toolkit.document import HostDefaults, effective, value_at
from ctk.toolkit.settings import SETTINGS, Setting, find_setting, nearest_key
from ctk.toolkit.values import security_note, type_fault, value_fault

Path = tuple[str, ...]


class Problem(Record):
    """One thing wrong in a file. line and column are 1-based, None where the key is not written.

    blocks: the file is built wrongly (a value of the wrong type), so it is not edited. is_error False = a warning.
    """

    path: Path
    text: str
    is_error: bool = False
    blocks: bool = False
    line: int | None = None
    column: int | None = None

    @property
    def key(self) -> str:
        """The path as people write it."""
        from ctk.edit.toml_render import dotted

        return dotted(self.path)

    @property
    def where(self) -> str:
        """line:column: as compilers say it, "" if nowhere."""
        return f"{self.line}:{self.column}:" if self.line else ""

    def placed(self, text: str) -> "Problem":
        """With the place of its key in the text."""
        line, column = toml.position_of(text, self.path) or (None, None)
        return self._replace(line=line, column=column)


def check_document(text: str, content: Mapping[str, object], host: HostDefaults) -> tuple[Problem, ...]:
    """Everything wrong in a file that needs no look at the host: types, values, dangerous ones, unknown keys."""
    values = {row.setting.key: row.value for row in effective(content, host)}
    found = [problem for setting in SETTINGS for problem in _check(setting, content, values)]
    unknown = [Problem(path, _unknown(path)) for path in unknown_paths(content)]
    known_bad = {problem.path for problem in found}
    found += [problem for problem in unknown if problem.path not in known_bad]
    return tuple(problem.placed(text) for problem in dict.fromkeys(found))


def _check(setting: Setting, content: Mapping[str, object], values: Mapping[str, object]) -> Iterator[Problem]:
    for length in range(1, len(setting.path)):
        holder = value_at(content, setting.path[:length])
        if holder is not None and not isinstance(holder, Mapping):
            yield Problem(setting.path[:length], "it must be a table", is_error=True, blocks=True)
            return
    value = value_at(content, setting.path)
    if value is None:
        return
    fault = value_fault(setting, value, values)
    if fault:
        yield Problem(setting.path, fault, is_error=True, blocks=bool(type_fault(setting, value)))
    elif note := security_note(setting, value):
        yield Problem(setting.path, f"security: {note}")


def _unknown(path: Path) -> str:
    near = nearest_key(".".join(path))
    return f"no setting of the toolkit{f'; did you mean {near}?' if near else ''}"


def unknown_paths(content: Mapping[str, object]) -> tuple[Path, ...]:
    """The keys of a file that no setting has."""
    known = {setting.path for setting in SETTINGS}
    return tuple(path for path in _leaves(content, ()) if path not in known)


def _leaves(table: Mapping[str, object], path: Path) -> Iterator[Path]:
    for name, value in table.items():
        inner = (*path, name)
        if isinstance(value, Mapping) and find_setting(".".join(inner)) is None:
            yield from _leaves(value, inner)
        else:
            yield inner


def refuse_broken(path: str, problems: Iterable[Problem]) -> None:
    """Raise ParseFault for the first problem that blocks: a file that is built wrongly is never rewritten."""
    for problem in problems:
        if problem.blocks:
            where = f"line {problem.line}, column {problem.column}: " if problem.line else ""
            raise ParseFault(
                f"cannot use {path}: {where}{problem.key}: {problem.text}",
                hint="Correct it; `ctk config validate` shows all that is wrong in it. Nothing was changed.",
                path=path,
                line=problem.line,
                column=problem.column,
            )
