"""systemd units as the files say they are, without asking systemctl; it judges no daemon's flags."""

from collections.abc import Mapping, Sequence

from ctk.host import Host
from ctk.host.reading import describe_failure, try_read_text
from ctk.host.unit_text import (
    Assignment,
    Variable,
    Word,
    expand_specifiers,
    expand_variables,
    parse_environment,
    parse_environment_file,
    parse_unit,
    parse_words,
    strip_prefixes,
)
from ctk.record import Record

SYSTEM_FOLDERS = (
    "/etc/systemd/system.control",
    "/run/systemd/system.control",
    "/run/systemd/transient",
    "/run/systemd/generator.early",
    "/etc/systemd/system",
    "/run/systemd/system",
    "/run/systemd/generator",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
    "/run/systemd/generator.late",
)
"""Where system units lie, the strongest first: systemd.unit(5), table "Load path when running in system mode"."""

USER_FOLDERS = (
    "{config}/systemd/user.control",
    "{runtime}/systemd/user.control",
    "{runtime}/systemd/transient",
    "{config}/systemd/user",
    "/etc/systemd/user",
    "{runtime}/systemd/user",
    "/run/systemd/user",
    "{data}/systemd/user",
    "/usr/local/lib/systemd/user",
    "/usr/lib/systemd/user",
)
"""The same for a user's units; the words in braces are the user's XDG folders."""


class Unit(Record):
    """One unit as its files describe it.

    path is the main file, files all that were read (drop-ins and EnvironmentFiles too), command the words of the first
    ExecStart with variables expanded, listen the ListenStream= of a socket unit. problems: one sentence for each file
    that could not be read. A masked unit has no command.
    """

    name: str
    path: str
    files: tuple[str, ...]
    command: tuple[Word, ...]
    environment: Mapping[str, Variable]
    listen: tuple[str, ...] = ()
    masked: bool = False
    problems: tuple[str, ...] = ()


def user_folders(home: str, config: str, runtime: str) -> tuple[str, ...]:
    """The load path of one user's manager."""
    return tuple(folder.format(config=config, runtime=runtime, data=f"{home}/.local/share") for folder in USER_FOLDERS)


def collect_unit(
    host: Host, name: str, folders: Sequence[str] = SYSTEM_FOLDERS, specifiers: Mapping[str, str] | None = None
) -> Unit | None:
    """The unit called name, or None. specifiers: letters that stand for something else than in the system manager."""
    path = find_unit_file(host, name, folders)
    if path is None:
        return None
    if is_masked(host, path):
        return Unit(name, path, (path,), (), {}, masked=True)
    reader = _Reader(host, {**default_specifiers(name), **(specifiers or {})})
    for file in (path, *find_drop_ins(host, name, folders)):
        reader.read_unit_file(file)
    return reader.finish(name, path)


def default_specifiers(name: str) -> dict[str, str]:
    """What %n and its like mean for the system manager (systemd.unit(5), "Specifiers")."""
    stem = name.rpartition(".")[0] or name
    prefix, _, instance = stem.partition("@")
    return {
        "n": name,
        "N": stem,
        "p": prefix,
        "P": prefix,
        "i": instance,
        "I": instance,
        "j": prefix.rpartition("-")[2],
        "t": "/run",
        "S": "/var/lib",
        "C": "/var/cache",
        "L": "/var/log",
        "E": "/etc",
        "h": "/root",
        "u": "root",
        "U": "0",
        "T": "/tmp",  # noqa: S108 - the value of systemd's specifier, not a file of ours
        "V": "/var/tmp",  # noqa: S108 - the value of a specifier too
    }


def find_unit_file(host: Host, name: str, folders: Sequence[str]) -> str | None:
    """The strongest file of that name; a dangling link counts, because it hides the weaker ones."""
    for folder in folders:
        path = f"{folder}/{name}"
        if _is_there(host, path):
            return path
    return None


def find_drop_ins(host: Host, name: str, folders: Sequence[str]) -> tuple[str, ...]:
    """All *.conf of the unit's drop-in folders in load order: by name; of equal names only the strongest counts."""
    chosen: dict[str, str] = {}
    for folder_name in drop_in_folder_names(name):
        for folder in folders:
            for entry in _list(host, f"{folder}/{folder_name}"):
                if entry.endswith(".conf"):
                    chosen.setdefault(entry, f"{folder}/{folder_name}/{entry}")
    return tuple(chosen[entry] for entry in sorted(chosen))


def drop_in_folder_names(name: str) -> tuple[str, ...]:
    """a-b.service.d, a-.service.d, service.d: the more special, the stronger (systemd.unit(5))."""
    stem, _, suffix = name.rpartition(".")
    names = [f"{name}.d"]
    while "-" in stem.rstrip("-"):
        stem = stem.rstrip("-").rpartition("-")[0] + "-"
        names.append(f"{stem}.{suffix}.d")
    return (*names, f"{suffix}.d")


def is_masked(host: Host, path: str) -> bool:
    """A link to /dev/null, or an empty file: the unit or drop-in is switched off."""
    try:
        if host.is_link(path):
            return host.readlink(path) == "/dev/null"
        return host.stat(path).st_size == 0
    except OSError:
        return False


def _is_there(host: Host, path: str) -> bool:
    try:
        return host.is_link(path) or host.is_file(path)
    except OSError:
        return False


def _list(host: Host, folder: str) -> tuple[str, ...]:
    try:
        return host.list_directory(folder)
    except OSError:
        return ()


class _Reader:
    """Gathers the assignments of a unit's files in load order; an empty assignment resets a list."""

    def __init__(self, host: Host, specifiers: Mapping[str, str]) -> None:
        self.host = host
        self.specifiers = specifiers
        self.files: list[str] = []
        self.problems: list[str] = []
        self.lists: dict[str, list[tuple[str, Assignment]]] = {}

    def read_unit_file(self, path: str) -> None:
        if is_masked(self.host, path):
            return
        text = self._read(path)
        for item in parse_unit(text or ""):
            key = f"{item.section}.{item.key}"
            if item.value.strip():
                self.lists.setdefault(key, []).append((path, item))
            else:
                self.lists.pop(key, None)

    def finish(self, name: str, path: str) -> Unit:
        environment = self._environment()
        command = self._command(environment)
        listen = tuple(self._specify(item.value) for _, item in self.lists.get("Socket.ListenStream", []))
        return Unit(name, path, tuple(self.files), command, environment, listen=listen, problems=tuple(self.problems))

    def _read(self, path: str, *, optional: bool = False) -> str | None:
        text = try_read_text(self.host, path)
        if isinstance(text, str):
            self.files.append(path)
            return text
        if text is not None or not optional:
            self.problems.append(f"cannot read {path}: {describe_failure(text)}")
        return None

    def _environment(self) -> dict[str, Variable]:
        """Environment= first, then the files: a file's value wins (systemd.exec(5))."""
        found: dict[str, Variable] = {}
        for path, item in self.lists.get("Service.Environment", []):
            for name, value, line in parse_environment(item.value, item.lines):
                found[name] = Variable(self._specify(value), path, line)
        for _, item in self.lists.get("Service.EnvironmentFile", []):
            for file, optional in self._environment_files(item.value.strip()):
                for name, value, line in parse_environment_file(self._read(file, optional=optional) or ""):
                    found[name] = Variable(value, file, line)
        return found

    def _environment_files(self, value: str) -> list[tuple[str, bool]]:
        optional = value.startswith("-")
        path = self._specify(value.removeprefix("-"))
        if not any(character in path for character in "*?["):
            return [(path, optional)]
        try:
            return [(file, True) for file in self.host.glob(path)]
        except OSError:
            return []

    def _command(self, environment: Mapping[str, Variable]) -> tuple[Word, ...]:
        starts = self.lists.get("Service.ExecStart", [])
        if not starts:
            return ()
        path, item = starts[0]
        words = tuple(Word(text, path, line) for text, line in parse_words(item.value, item.lines))
        ends = [index for index, word in enumerate(words) if word.text == ";"]
        words, has_variables = strip_prefixes(words[: ends[0]] if ends else words)
        words = tuple(word._replace(text=self._specify(word.text)) for word in words)
        if not has_variables:
            return words
        return (*words[:1], *(part for word in words[1:] for part in expand_variables(word, environment)))

    def _specify(self, text: str) -> str:
        return expand_specifiers(text, self.specifiers)
