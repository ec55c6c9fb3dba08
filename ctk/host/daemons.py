"""One installation's daemon: its unit, its process and the flags it was given; it reads no configuration."""

import os
from collections.abc import Sequence

from ctk.engines.installations import INSTALLATIONS, Daemon, Installation, get_daemon
from ctk.facts import Unknown
from ctk.facts.engines import EngineFlag
from ctk.host import Host
from ctk.host.flags import last_value, parse_flags
from ctk.host.processes import Process
from ctk.host.reading import try_read_text
from ctk.host.unit_text import Variable, Word, parse_words
from ctk.host.units import SYSTEM_FOLDERS, Unit, collect_unit, user_folders
from ctk.host.users import User
from ctk.record import Record


class DaemonView(Record):
    """What is known of one daemon before its configuration is read.

    told: the flags of the unit and its files; given: those of the running process. process_known False = /proc could
    not be looked at, reason says why.
    """

    row: Installation
    user: User | None
    unit: Unit | None
    process: Process | None
    told: tuple[EngineFlag, ...]
    given: tuple[EngineFlag, ...]
    files: tuple[str, ...]
    reason: str = ""

    @property
    def flags(self) -> tuple[EngineFlag, ...]:
        """All flags, each once: where the unit has it too, its file is the origin that can be edited."""
        known = {(flag.name, flag.value) for flag in self.told}
        return self.told + tuple(flag for flag in self.given if (flag.name, flag.value) not in known)

    def find_flag(self, name: str) -> EngineFlag | None:
        """The flag in force: the process's own once it runs, else what the unit says."""
        if self.process is None:
            return last_value(self.told, name)
        flag = last_value(self.given, name)
        if flag is None:
            return None
        same = [told for told in self.told if (told.name, told.value) == (flag.name, flag.value)]
        if not same:
            return flag
        source = same[-1].origin if same[-1].line is None else f"{same[-1].origin} line {same[-1].line}"
        return EngineFlag(name=flag.name, value=flag.value, origin=f"{flag.origin}, from {source}")

    def find_variable(self, name: str) -> Variable | None:
        """An environment variable that the unit sets."""
        return self.unit.environment.get(name) if self.unit else None


def collect_daemon(
    host: Host, row: Installation, user: User | None, processes: Sequence[Process] | Unknown
) -> DaemonView:
    """The row's daemon, for one user if the row is per user."""
    daemon = get_daemon(row.engine)
    unit = _collect_unit(host, row, user)
    words, files = _daemon_words(host, row, unit)
    process = None if isinstance(processes, Unknown) else choose_process(host, row, user, processes)
    given = () if process is None else _process_words(process)
    return DaemonView(
        row=row,
        user=user,
        unit=unit,
        process=process,
        told=parse_flags(words, daemon),
        given=parse_flags(given, daemon),
        files=files,
        reason=processes.reason if isinstance(processes, Unknown) else "",
    )


def _collect_unit(host: Host, row: Installation, user: User | None) -> Unit | None:
    folders: Sequence[str] = SYSTEM_FOLDERS
    specifiers = {}
    if user is not None:
        folders = user_folders(user.home, user.config, user.runtime)
        specifiers = {"h": user.home, "t": user.runtime, "E": user.config, "u": user.name, "U": str(user.uid)}
    for name in row.units:
        unit = collect_unit(host, name, folders, specifiers)
        if unit is not None:
            return unit
    return None


def _daemon_words(host: Host, row: Installation, unit: Unit | None) -> tuple[tuple[Word, ...], tuple[str, ...]]:
    """The daemon's words, and the files they come from. A unit that starts something else says nothing of its flags."""
    files = unit.files if unit else ()
    words = unit.command if unit and _starts_daemon(row, unit) else ()
    if row.arguments_file is None:
        return words, files
    text = try_read_text(host, row.arguments_file)
    if not isinstance(text, str):
        return words, files
    arguments = parse_arguments(text, row.arguments_file, row.variables)
    program = words[:1] or (Word(get_daemon(row.engine).process, row.arguments_file, None),)
    return (*program, *words[1:], *arguments), (*files, row.arguments_file)


def _starts_daemon(row: Installation, unit: Unit) -> bool:
    """The unit's program is the daemon, or a wrapper that hands its words on (dockerd-rootless.sh, dockerd-wrapper)."""
    if not unit.command:
        return False
    return os.path.basename(unit.command[0].text).startswith(get_daemon(row.engine).process)


def parse_arguments(text: str, origin: str, variables: Sequence[tuple[str, str]]) -> tuple[Word, ...]:
    """A file of flags as microk8s' wrappers read it: quoted words, # comments, ${NAME} for the snap's folders."""
    words = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#"):
            continue
        for name, value in variables:
            line = line.replace("${" + name + "}", value)
        words += [Word(word, origin, number) for word, _ in parse_words(line, (number,))]
    return tuple(words)


def _process_words(process: Process) -> tuple[Word, ...]:
    return tuple(Word(text, f"command line of pid {process.pid}", None) for text in process.argv)


def choose_process(host: Host, row: Installation, user: User | None, processes: Sequence[Process]) -> Process | None:
    """The row's process. Of several, the one systemd started for the row's unit, then the oldest.

    A system daemon in a mount namespace of its own reads other files than ours, unless systemd gave it that namespace
    (PrivateTmp=); a rootless one always has its own and still reads the user's folders.
    """
    daemon = get_daemon(row.engine)
    mine = [
        process
        for process in processes
        if process.name == daemon.process
        and process.user == (user.uid if user else 0)
        and (user is not None or process.sees_our_files or process.is_in_unit(row.units))
        and match_row(host, process, daemon) == row.name
    ]
    mine.sort(key=lambda process: not process.is_in_unit(row.units))
    return mine[0] if mine else None


def match_row(host: Host, process: Process, daemon: Daemon) -> str:
    """The name of the installation a process belongs to: by its config, then its binary, then its unit."""
    rows = [row for row in INSTALLATIONS if row.engine == daemon.engine]
    if process.user != 0 and any(row.per_user for row in rows):
        return "rootless"
    rows = [row for row in rows if not row.per_user]
    config = last_value(parse_flags(_process_words(process), daemon), daemon.config)
    if config is not None:
        for row in rows:
            if is_same_file(host, config.value, row.config):
                return row.name
    for row in rows:
        paths = [path for path in row.binaries if path.startswith("/")]
        if process.executable and any(is_same_file(host, process.executable, path) for path in paths):
            return row.name
    for row in rows:
        if process.is_in_unit(row.units):
            return row.name
    return "system"


def is_same_file(host: Host, one: str, other: str) -> bool:
    """Both paths lead to the same place: a snap's daemon is given the revision's folder, not `current`."""
    if one == other:
        return True
    try:
        return host.real_path(one) == host.real_path(other)
    except OSError:
        return False
