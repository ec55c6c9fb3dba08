"""Container engines as found on a host: one record for each installation; no I/O."""

from ctk.facts import Unknown
from ctk.record import Record


class EngineFlag(Record):
    """One command-line flag of a daemon, and the file that sets it.

    name without dashes ("add-runtime"), value "" for a bare flag, origin the unit file, drop-in or EnvironmentFile.
    """

    name: str
    value: str
    origin: str
    line: int | None = None


class EngineRuntime(Record):
    """One runtime entry of an engine's files. fault: what is wrong with its program, "" if nothing."""

    name: str
    path: str | None
    file: str | None
    fault: str = ""


class EngineFiles(Record):
    """What the files of one installation say, read as the engine reads them.

    changed_at: when the newest of them, changed_path, was changed; RFC 3339, UTC.
    """

    runtimes: tuple[EngineRuntime, ...]
    default_runtime: str | None
    cdi_enabled: bool | None
    changed_at: str | None = None
    changed_path: str | None = None


class EngineDaemon(Record):
    """What the running daemon itself says (Docker only). runtimes: names and the paths it uses for them."""

    runtimes: tuple[EngineRuntime, ...]
    default_runtime: str


NOT_READ = Unknown("not read in this run")


class EngineInstallation(Record):
    """One installed engine. Paths are paths of the host (below --root), never of the machine that looked.

    engine is docker, containerd, crio or podman; installation is the name of a row of
    ctk.engines.installations (system, k3s, rke2, microk8s, k0s, snap, rootless).
    """

    engine: str
    installation: str
    binary: str | None | Unknown
    version: str | None | Unknown
    config_path: str  # the main file in force, whether it exists or not
    config_origin: str  # "default", or the file and flag that name it
    config_exists: bool | Unknown
    drop_in_directory: str | None = None
    imports: tuple[str, ...] = ()  # containerd: the import patterns of the main file, as written
    drop_ins: tuple[str, ...] = ()  # the files that are read after the main file, in load order
    generated_from: str | None = None  # the template or folder to edit instead of config_path
    socket: str | None = None
    unit: str | None = None
    unit_files: tuple[str, ...] = ()  # unit, drop-ins and EnvironmentFiles that were read
    flags: tuple[EngineFlag, ...] = ()
    running: bool | Unknown = False
    pid: int | None = None
    running_since: str | None | Unknown = None  # RFC 3339, UTC
    user: str | None = None  # the owner of a rootless installation
    files: EngineFiles | Unknown = NOT_READ
    daemon: EngineDaemon | None | Unknown = NOT_READ
    used_by: tuple[str, ...] = ()  # "kubelet", "docker", "nerdctl", "k3s" …: who is known to use it
