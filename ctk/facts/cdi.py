"""The folders of CDI specs on a host, the specs in them, and the state of what they name; no I/O."""

from ctk.facts import Unknown
from ctk.facts.cdi_spec import CdiSpec
from ctk.record import Record

REFUSED, INVALID, WARNING = "refused", "invalid", "warning"
"""Levels of a fault: no engine loads the file · it loads, but a container cannot start, or the specification forbids
it · it works, and may surprise."""
TEXT, SCHEMA, VERSION = "text", "schema", "version"
"""What a fault is one of: no YAML at all · fields, types, rules · the version against the fields."""
DEFAULT_FOLDERS = ("/etc/cdi", "/var/run/cdi")
"""container-device-interface, pkg/cdi/spec-dirs.go: the later folder wins."""


class SpecFault(Record):
    """What is wrong with a spec: one plain sentence, and where ("devices[3].name"; line and column from 1)."""

    message: str
    where: str = ""
    line: int | None = None
    column: int | None = None
    level: str = REFUSED
    part: str = SCHEMA


class CdiFolder(Record):
    """One folder that some program reads specs from.

    real_path: with links resolved, in the host's names; None: it is not there. named_by: who reads it ("toolkit",
    "docker (system)"), nobody for a place where specs are left by mistake. ignored: names in it that nobody reads.
    """

    path: str
    real_path: str | None | Unknown
    mode: int | None = None
    uid: int | None = None
    named_by: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class CdiFile(Record):
    """One file whose name ends in .json or .yaml. spec None: it holds no spec; faults say why.

    folder is the real path of the folder it lies in, path the file below the folder's first name.
    """

    path: str
    folder: str
    spec: CdiSpec | None | Unknown
    faults: tuple[SpecFault, ...] = ()
    mode: int | None = None
    uid: int | None = None
    modified_at: str | None = None  # RFC 3339, UTC

    @property
    def is_loaded(self) -> bool:
        """Engines take it."""
        return isinstance(self.spec, CdiSpec) and not any(fault.level == REFUSED for fault in self.faults)


class CdiHostPath(Record):
    """A path of the host that a spec names. kind: file, folder, char, block, socket, pipe; None: it is not there."""

    path: str
    kind: str | None | Unknown
    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    major: int | None = None
    minor: int | None = None

    @property
    def is_executable(self) -> bool:
        """Somebody may run it."""
        return self.kind == "file" and bool((self.mode or 0) & 0o111)


class Cdi(Record):
    """All of it. files in the order of the folders, by name within one; host_paths None: they were not looked at."""

    folders: tuple[CdiFolder, ...] | Unknown
    files: tuple[CdiFile, ...] | Unknown = ()
    host_paths: tuple[CdiHostPath, ...] | None | Unknown = ()
