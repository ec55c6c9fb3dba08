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
    """One runtime entry of an engine's files. fault: what is wrong with its program, "" if nothing.

    unseen: why its program, or monitor, could not be looked at; "" = it could.
    kind: its type, as the file names it ("io.containerd.runc.v2", "oci"). monitor: CRI-O's monitor_path.
    """

    name: str
    path: str | None
    file: str | None
    fault: str = ""
    kind: str | None = None
    systemd_cgroup: bool | None = None  # containerd's SystemdCgroup; None: it does not say
    monitor: str | None = None
    monitor_fault: str = ""
    unseen: str = ""


class FileFault(Record):
    """What an engine does not take in one of its files: a phrase. line, column: from 1, None = the whole file.

    is_fatal False: the engine reads on, but something else than what was meant.
    """

    path: str
    message: str
    line: int | None = None
    column: int | None = None
    is_fatal: bool = True


OTHER_FILE, NOT_IMPORTED, OTHER_FOLDER = "other-file", "not-imported", "other-folder"
OTHER_PLUGIN, GENERATED_ONLY, MAYBE_IMPORTED = "other-plugin", "generated-only", "maybe-imported"


class UnreadRuntime(Record):
    """A runtime of NVIDIA's that is written where this engine does not read it, or not for long.

    reason: one of the words above; detail: the plugin's id, or the file that is read instead.
    """

    name: str
    file: str
    reason: str
    detail: str = ""


class EngineFiles(Record):
    """What the files of one installation say, read as the engine reads them; None where they say nothing.

    changed_at: when the newest of them, changed_path, was changed; runtime_changed_at: the newest of those that hold a
    runtime of NVIDIA's; both RFC 3339, UTC. dangling_default: a default runtime that no entry stands behind.
    """

    runtimes: tuple[EngineRuntime, ...]
    default_runtime: str | None
    cdi_enabled: bool | None
    changed_at: str | None = None
    changed_path: str | None = None
    runtime_changed_at: str | None = None
    dangling_default: str | None = None
    cgroup_driver: str | None = None  # systemd or cgroupfs; containerd says it for each runtime
    cdi_directories: tuple[str, ...] | None = None
    keys: tuple[str, ...] = ()  # Docker: the members of daemon.json
    live_restore: bool | None = None  # Docker
    config_version: int | None = None  # containerd
    disabled_plugins: tuple[str, ...] = ()  # containerd: those that make up the CRI service


class EngineDaemon(Record):
    """What the running daemon itself says (Docker only). runtimes: names and the paths it uses for them.

    cdi_directories: none at all = CDI is off. cdi_devices: NVIDIA's only; None: this release does not tell.
    """

    runtimes: tuple[EngineRuntime, ...]
    default_runtime: str
    version: str | None = None
    cgroup_driver: str | None = None
    cdi_directories: tuple[str, ...] | None = None
    cdi_devices: tuple[str, ...] | None = None
    live_restore: bool | None = None
    is_rootless: bool | None = None
    operating_system: str | None = None
    containers_running: int | None = None


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
    faults: tuple[FileFault, ...] = ()  # then files is Unknown, if one of them is fatal
    unread: tuple[UnreadRuntime, ...] = ()
    enabled: bool | None | Unknown = NOT_READ  # some target wants its unit; None: it has none
    listens: bool | None | Unknown = NOT_READ  # something answers at the socket; None: not asked
    search_path: tuple[str, ...] = ()  # the PATH that the unit gives the daemon; () = the system's
