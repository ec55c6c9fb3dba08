"""How NVIDIA's toolkit is set up on a host: its copies, its configuration, hook files, and the CDI refresh; no I/O."""

from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown
from ctk.facts.toolkit_mode import ModeFacts

SYSTEM, OPERATOR, SNAP = "system", "operator", "snap"
VALUE, UNKNOWN_KEY, SECURITY = "value", "unknown-key", "security"


class ToolkitCopy(NamedTuple):
    """One copy of the toolkit. kind: SYSTEM, OPERATOR (the GPU Operator's folder) or SNAP; programs: those there.

    no_exec: its file system is mounted so that no program of it can be started; None: only a running host tells.
    """

    kind: str
    folder: str
    programs: tuple[str, ...]
    version: str | None | Unknown = None
    no_exec: bool | None = None


class ToolkitValue(NamedTuple):
    """One key's value in force; None = absent, or of the wrong type. host_fault: what it names that is not here."""

    key: str
    value: str | bool | tuple[str, ...] | None
    is_set: bool = False
    host_fault: str = ""


class ToolkitProblem(NamedTuple):
    """One thing wrong in the file. kind: VALUE, UNKNOWN_KEY or SECURITY."""

    kind: str
    key: str
    text: str
    line: int | None = None


class ConfigFault(NamedTuple):
    """Why the file is no TOML, and where."""

    text: str
    line: int | None = None
    column: int | None = None


class LowLevelRuntime(NamedTuple):
    """One of the programs that the toolkit's runtime may hand a container to.

    target: the file behind all links. wraps: the runtime of a toolkit that it leads to, "" if none.
    """

    name: str
    path: str | None | Unknown
    target: str | None = None
    wraps: str = ""


class LogFile(NamedTuple):
    """A log that is switched on. folder_exists: its folder is there; size_bytes None = no such file yet."""

    key: str
    path: str
    folder_exists: bool | Unknown
    size_bytes: int | None | Unknown = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolkitConfig:
    """config.toml. exists False: the built-in defaults hold. values is empty while the file cannot be used."""

    path: str
    exists: bool | Unknown
    fault: ConfigFault | None = None
    values: tuple[ToolkitValue, ...] = ()
    problems: tuple[ToolkitProblem, ...] = ()
    look_alikes: tuple[str, ...] = ()  # files of that name, elsewhere, that say something else and are not read
    runtimes: tuple[LowLevelRuntime, ...] = ()
    mode: ModeFacts | None | Unknown = None
    logs: tuple[LogFile, ...] = ()

    def find(self, key: str) -> ToolkitValue | None:
        """The value of a key; None while the file cannot be used."""
        return next((row for row in self.values if row.key == key), None)

    def text(self, key: str) -> str:
        """A text, "" where there is none."""
        row = self.find(key)
        return row.value if row is not None and isinstance(row.value, str) else ""

    def is_true(self, key: str) -> bool:
        """A switch that is known to be on."""
        row = self.find(key)
        return row is not None and row.value is True


class OciHook(NamedTuple):
    """A file in one of the hook folders that starts a program of NVIDIA's or ctk's (oci-hooks(5)).

    program None: the file names none. fault: why the file cannot be used. conditions: the kinds of `when` it has.
    """

    file: str
    program: str | None
    program_fault: str = ""  # what is wrong with the program, "" if nothing
    conditions: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    fault: str = ""


class CdiRefresh(NamedTuple):
    """The units that keep the CDI spec fresh, NVIDIA's or ctk's. None = no such unit or rule.

    result, exit_status, condition, ended_seconds: what systemd says of the last run; None = not asked, or none.
    """

    owner: str  # "nvidia" or "ctk"
    service: str | None
    path_unit: str | None
    service_enabled: bool | Unknown
    path_enabled: bool | Unknown
    masked: bool = False
    udev_rule: str | None = None
    result: str | None | Unknown = None
    exit_status: int | None | Unknown = None
    condition: bool | None | Unknown = None
    ended_seconds: float | None | Unknown = None  # after the boot


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolkitSetup:
    """All of it. newest_bundle: the OCI version that the newest container's configuration names."""

    config: ToolkitConfig | Unknown
    copies: tuple[ToolkitCopy, ...] | Unknown = ()
    hooks: tuple[OciHook, ...] | Unknown = ()
    refresh: tuple[CdiRefresh, ...] | Unknown = ()
    newest_bundle: str | None | Unknown = None
