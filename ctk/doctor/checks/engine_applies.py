"""Where a check of an engine has nothing to say, how an installation is named, and its commands; no check is here."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import driver_traces, gpus
from ctk.doctor.checks.collector import SYSTEM_CONTAINERS
from ctk.doctor.checks.toolkit_applies import engines_of, has_gpu, installed_tools
from ctk.doctor.model import (
    APT,
    CRITICAL,
    RED_HAT,
    SUSE,
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    passed,
    skipped,
    unseen,
)
from ctk.engines.reading import is_nvidia_runtime, version_numbers
from ctk.facts import Unknown
from ctk.facts.cdi import DEFAULT_FOLDERS
from ctk.facts.cdi_spec import CdiSpec

if TYPE_CHECKING:
    from ctk.facts.cdi import CdiFile
    from ctk.facts.engines import EngineFiles, EngineInstallation, EngineRuntime
    from ctk.facts.snapshot import Snapshot

Judge = Callable[["Snapshot", "EngineInstallation"], Outcome]
REINSTALL = (
    Command("apt-get install --reinstall nvidia-container-toolkit", only_on=APT),
    Command("dnf reinstall nvidia-container-toolkit", only_on=(RED_HAT,)),
    Command("zypper install --force nvidia-container-toolkit", only_on=(SUSE,)),
)
OWN_NAME = "nvidia"
"""What `ctk runtime configure` registers unless it is told another name."""
GROUP = "Container engines"
NVIDIA_KINDS = "nvidia.com/"
SLACK_SECONDS = 1
"""The start of a process is known to about a second."""
KUBERNETES = frozenset({"kubelet", "k3s", "rke2", "microk8s", "k0s"})


def nothing_to_serve(snapshot: "Snapshot") -> str:
    """Why engines are nobody's business here: no GPU, and no trace of a driver or a toolkit; "" where there may be.

    A container in which an engine runs (Docker in Docker, a node of kind) is judged as a host.
    """
    container = snapshot.system.container
    is_guest = isinstance(container, str) and container not in SYSTEM_CONTAINERS
    if is_guest and not any(item.running is True for item in engines_of(snapshot)):
        return f"inside a container ({container}) the engines are the host's business"
    if snapshot.system.jetson is not False or _may_have_gpu(snapshot) or installed_tools(snapshot):
        return ""
    return "there is no NVIDIA GPU here, and no trace of a driver or a toolkit"


def _may_have_gpu(snapshot: "Snapshot") -> bool:
    """Under WSL the PCI bus shows none; what Windows shares does."""
    if snapshot.system.wsl is not None:
        return _has_windows_driver(snapshot) is not False
    return isinstance(snapshot.pci, Unknown) or bool(gpus(snapshot) or driver_traces(snapshot))


def _has_windows_driver(snapshot: "Snapshot") -> bool | Unknown:
    platform = snapshot.platform
    if isinstance(platform, Unknown) or platform.wsl is None:
        return platform if isinstance(platform, Unknown) else Unknown("what Windows shares was not looked at")
    return platform.wsl.stores if isinstance(platform.wsl.stores, Unknown) else bool(platform.wsl.stores)


def each_of(snapshot: "Snapshot", engine: str, judge: Judge, *, is_named: bool = True) -> tuple[Outcome, ...]:
    """What a check says of every installation of one engine, each under its own name if there can be several."""
    why = nothing_to_serve(snapshot)
    if why:
        return (skipped(why),)
    if isinstance(snapshot.engines, Unknown):
        return (unseen(snapshot.engines),)
    items = [item for item in snapshot.engines if item.engine == engine]
    if not items:
        return (skipped(f"{engine} is not installed"),)
    return tuple(judge(snapshot, item)._replace(subject=subject_of(item) if is_named else "") for item in items)


def subject_of(item: "EngineInstallation") -> str:
    """The installation's name: "docker", "containerd (k3s)", "docker (rootless, alice)"."""
    words = [item.installation] if item.installation != "system" else []
    words += [item.user] if item.user else []
    return f"{item.engine} ({', '.join(words)})" if words else item.engine


def is_idle(item: "EngineInstallation") -> bool:
    """It does not run, and nothing starts it at boot."""
    return item.running is False and item.enabled is not True


def serves_pods(item: "EngineInstallation") -> bool:
    """A kubelet starts its pods with it."""
    return bool(KUBERNETES & set(item.used_by))


def nvidia_runtimes(item: "EngineInstallation") -> "tuple[EngineRuntime, ...]":
    """The entries of NVIDIA's runtime, or ctk's, in the files in force."""
    if isinstance(item.files, Unknown):
        return ()
    return tuple(entry for entry in item.files.runtimes if is_nvidia_runtime(entry.name, entry.path))


def flag_runtimes(item: "EngineInstallation") -> tuple[tuple[str, str], ...]:
    """The runtimes that dockerd's flags name, with their paths."""
    values = [flag.value for flag in item.flags if flag.name == "add-runtime"]
    pairs = (value.partition("=") for value in values)
    return tuple((name.strip(), path.strip()) for name, _, path in pairs)


def has_nvidia_runtime(item: "EngineInstallation") -> bool:
    """By file, or by flag."""
    return bool(nvidia_runtimes(item)) or any(is_nvidia_runtime(*pair) for pair in flag_runtimes(item))


def others_with_runtime(snapshot: "Snapshot", item: "EngineInstallation") -> str:
    """The other installations that have NVIDIA's runtime, as words."""
    others = (other for other in engines_of(snapshot) if other is not item and has_nvidia_runtime(other))
    return ", ".join(subject_of(other) for other in others)


def files_of(item: "EngineInstallation") -> "EngineFiles | Outcome":
    """What the files say; an outcome where they could not be read."""
    return unseen(item.files) if isinstance(item.files, Unknown) else item.files


def judge_programs(
    item: "EngineInstallation", remedy: Callable[[bool], Remedy], *, stops: str, setting: str, nothing: str
) -> Outcome:
    """Whether the programs of NVIDIA's runtimes are there. remedy is asked with whether the broken one is the default.

    stops: what a broken default stops; setting: how the file names a program, of {name} and {path}; nothing: the words
    where none is registered.
    """
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    entries = nvidia_runtimes(item)
    if not entries:
        return skipped(nothing)
    for entry in entries:
        if entry.unseen:
            return unseen(Unknown(entry.unseen))
        if entry.fault:
            is_default = files.default_runtime == entry.name
            every = f", and it is the default: {stops}" if is_default else ""
            place = setting.format(name=entry.name, path=entry.path)
            return failed(
                f"the runtime {entry.name!r} cannot be started: {entry.fault}{every}",
                Evidence(place, entry.file or item.config_path),
                remedy=remedy(is_default),
                severity=CRITICAL,
            )
    return passed(
        "the runtime's program is there",
        *(Evidence(str(entry.path), entry.file or item.config_path) for entry in entries),
    )


def version_of(item: "EngineInstallation") -> tuple[int, int] | None:
    """Of the running daemon if it tells, else of the program; None where neither is known."""
    daemon = item.daemon
    told = daemon.version if daemon is not None and not isinstance(daemon, Unknown) else None
    return version_numbers(told) or version_numbers(item.version)


def nvidia_specs(snapshot: "Snapshot", *, pods: bool = False) -> "tuple[CdiFile, ...] | Unknown":
    """The CDI specs of NVIDIA's kinds that engines load. pods: those that a plugin of Kubernetes has written."""
    cdi = snapshot.cdi
    if isinstance(cdi, Unknown):
        return cdi
    if isinstance(cdi.files, Unknown):
        return cdi.files
    return tuple(file for file in cdi.files if file.is_loaded and _is_kind(file, pods))


def _is_kind(file: "CdiFile", pods: bool) -> bool:
    kind = file.spec.kind if isinstance(file.spec, CdiSpec) else ""
    return NVIDIA_KINDS in kind and kind.startswith("k8s.") is pods


def visible_specs(snapshot: "Snapshot", item: "EngineInstallation") -> "tuple[CdiFile, ...] | Unknown":
    """Those in the folders that the engine reads."""
    specs = nvidia_specs(snapshot)
    if isinstance(specs, Unknown):
        return specs
    places = {_real_path(snapshot, folder) for folder in reader_folders(item)}
    return tuple(file for file in specs if file.folder in places)


def reader_folders(item: "EngineInstallation") -> tuple[str, ...]:
    """The folders in which an engine looks for CDI specs: by its own word, its files, or its default."""
    daemon, files = item.daemon, item.files
    told = daemon.cdi_directories if daemon is not None and not isinstance(daemon, Unknown) else None
    named = None if isinstance(files, Unknown) else files.cdi_directories
    return told or named or DEFAULT_FOLDERS


def _real_path(snapshot: "Snapshot", folder: str) -> str:
    folders = () if isinstance(snapshot.cdi, Unknown) else snapshot.cdi.folders
    for known in folders if isinstance(folders, tuple) else ():
        if known.path == folder and isinstance(known.real_path, str):
            return known.real_path
    return folder


def has_device(snapshot: "Snapshot") -> bool | Unknown:
    """A GPU that containers of this host may be meant to use, WSL's too."""
    return _has_windows_driver(snapshot) if isinstance(snapshot.system.wsl, int) else has_gpu(snapshot)


def place_of(path: str, line: int | None) -> str:
    """A path with its line, as evidence names it."""
    return path if line is None else f"{path} line {line}"


def config_evidence(item: "EngineInstallation", value: str) -> Evidence:
    """A value of the main file, and what says that this is the one."""
    origin = "" if item.config_origin == "default" else f" ({item.config_origin})"
    return Evidence(value, f"{item.config_path}{origin}")


def is_later(changed_at: str | None, started_at: str) -> bool:
    """The change is after the start; a text that is no time is later than nothing."""
    if changed_at is None:
        return False
    from datetime import datetime

    try:
        seconds = (datetime.fromisoformat(changed_at) - datetime.fromisoformat(started_at)).total_seconds()
    except (ValueError, TypeError):  # TypeError: only one of them has a time zone
        return False
    return seconds > SLACK_SECONDS


def configure_command(item: "EngineInstallation", *options: str) -> Command:
    """Our own command for this installation."""
    words = ["ctk", "runtime", "configure", f"--runtime={item.engine}"]
    if item.user is not None:
        words.append(f"--config={item.config_path}")
    elif item.installation != "system":
        words.append(f"--installation={item.installation}")
    elif item.config_origin != "default":
        words.append(f"--config={item.config_path}")
    return Command(" ".join((*words, *options)), needs_root=item.user is None)


def restart_command(item: "EngineInstallation", *, reload: bool = False) -> Command:
    """How the daemon reads its files again, and what that stops.

    containerd and CRI-O leave their containers running; dockerd stops them unless live-restore is on.
    """
    verb = "reload" if reload else "restart"
    unit = (item.unit or f"{item.engine}.service").removesuffix(".service")
    stops = item.engine == "docker" and not reload and not _is_restored(item)
    if item.user is not None:
        return Command(f"systemctl --user {verb} {unit}", False, (unit,), stops)
    return Command(f"systemctl {verb} {unit}", True, () if reload else (unit,), stops)


def _is_restored(item: "EngineInstallation") -> bool:
    daemon = item.daemon
    if daemon is None or isinstance(daemon, Unknown):
        return not isinstance(item.files, Unknown) and item.files.live_restore is True
    return daemon.live_restore is True
