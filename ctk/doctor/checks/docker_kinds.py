"""Which Docker this is and whether it answers: packages, the snap, rootless, Desktop's virtual machine."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import expects_containers
from ctk.doctor.checks.engine_applies import (
    config_evidence,
    configure_command,
    each_of,
    files_of,
    has_nvidia_runtime,
    nothing_to_serve,
    restart_command,
    subject_of,
    version_of,
)
from ctk.doctor.checks.toolkit_applies import config_of, engines_of, find_package, resolve_mode
from ctk.doctor.model import (
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    noted,
    passed,
    skipped,
    unseen,
    warned,
)
from ctk.engines.docker import desktop_warning, is_desktop_context
from ctk.facts import Unknown
from ctk.facts.engines import OTHER_FILE, EngineDaemon

if TYPE_CHECKING:
    from ctk.facts.engines import EngineInstallation
    from ctk.facts.snapshot import Snapshot
    from ctk.facts.toolkit_setup import ToolkitConfig

DOCKER, SNAP = "docker", "snap"
PACKAGES = ("docker-ce", "docker.io", "moby-engine", "docker")
SHIM_PACKAGE = "podman-docker"
NO_CGROUPS = "nvidia-container-cli.no-cgroups"
CDI_SINCE, GPUS_SINCE, CDI_ON_SINCE = (25, 0), (19, 3), (28, 2)
"""docs.docker.com, release notes of the engine: CDI with features.cdi, --gpus, CDI on by default."""


def check_installed(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """People write into the file of the wrong one."""
    why = nothing_to_serve(snapshot)
    if why:
        return (skipped(why),)
    if isinstance(snapshot.engines, Unknown):
        return (unseen(snapshot.engines),)
    items = [item for item in snapshot.engines if item.engine == DOCKER]
    shim = find_package(snapshot, SHIM_PACKAGE)
    if not items and shim is not None:
        return (noted("the command docker is Podman's", Evidence(f"{shim.name} {shim.version}", "package")),)
    if not items:
        return (skipped("docker is not installed"),)
    return tuple(_describe_kind(snapshot, item) for item in items)


def _describe_kind(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    package = find_package(snapshot, *PACKAGES) if item.installation == "system" else None
    origin = f"package {package.name} {package.version}" if package is not None else item.installation
    version = item.version if isinstance(item.version, str) else "version not known"
    evidence = (Evidence(version, str(item.binary)), config_evidence(item, "its file"))
    return passed(f"Docker is installed: {origin}", *evidence, subject=subject_of(item))


def check_running(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """One that nobody enabled may be at rest; docker.socket starts it when it is asked."""
    return each_of(snapshot, DOCKER, judge_running)


def judge_running(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    """Whether an engine's daemon runs and answers, if it is meant to."""
    del snapshot
    if isinstance(item.running, Unknown):
        return unseen(item.running)
    unit = item.unit or f"{item.engine}.service"
    if item.running:
        if item.listens is False:
            return failed(
                f"{item.engine} runs, but nothing answers at its socket",
                Evidence("no answer", item.socket or "its socket"),
                Evidence(f"pid {item.pid}", "/proc"),
                remedy=running_remedy(item, hangs=True),
            )
        return passed(f"{item.engine} runs", Evidence(f"pid {item.pid}, since {item.running_since}", unit))
    if item.enabled is True:
        return failed(
            f"{item.engine} is enabled and does not run",
            Evidence("enabled, no such process", unit),
            remedy=running_remedy(item),
        )
    if isinstance(item.enabled, Unknown):
        return unseen(item.enabled)
    return noted(f"{item.engine} does not run, and nothing starts it at boot", Evidence("not enabled", unit))


def running_remedy(item: "EngineInstallation", *, hangs: bool = False) -> Remedy:
    """Look why, then start it; one that hangs may still have containers."""
    user = " --user" if item.user is not None else ""
    unit = (item.unit or f"{item.engine}.service").removesuffix(".service")
    return Remedy(
        "Look what it waits for, then start it anew" if hangs else "Look why it stopped, then start it",
        (
            Command(f"journalctl{user} -u {unit} -n 50 --no-pager", item.user is None),
            restart_command(item) if hangs else restart_command(item)._replace(stops_containers=False),
        ),
    )


def check_version(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """What this release can do for GPUs; security is judged elsewhere."""
    return each_of(snapshot, DOCKER, _judge_version)


def _judge_version(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    del snapshot
    version = version_of(item)
    if version is None:
        return unseen(item.version if isinstance(item.version, Unknown) else Unknown("it names no version"))
    told = item.daemon.version if isinstance(item.daemon, EngineDaemon) and item.daemon.version else item.version
    evidence = Evidence(str(told), "GET /info" if isinstance(item.daemon, EngineDaemon) else str(item.binary))
    if version < GPUS_SINCE:
        return warned(f"Docker {told} does not know --gpus, which came with 19.03", evidence)
    if version < CDI_SINCE:
        return noted(f"Docker {told} cannot use CDI, which came with 25", evidence)
    switch = "on by default" if version >= CDI_ON_SINCE else "off unless features.cdi is true"
    return passed(f"Docker {told} can use CDI, {switch}", evidence)


def check_snap(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """The snap's dockerd sees its own file and its own programs, not what packages install."""
    return each_of(snapshot, DOCKER, _judge_snap)


def _judge_snap(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    if item.installation != SNAP:
        return skipped("it is not the snap")
    others = [other for other in engines_of(snapshot) if other.engine == DOCKER and other.installation == "system"]
    used = [other for other in others if other.running is True or other.enabled is True]
    if used:
        return failed(
            f"Docker is installed as a snap and as {used[0].binary}: both want the socket {item.socket}",
            config_evidence(item, "the snap's file"),
            config_evidence(used[0], "the other one's file"),
        )
    unread = [entry for entry in item.unread if entry.reason == OTHER_FILE]
    if unread and not has_nvidia_runtime(item):
        return warned(
            f"{unread[0].file} registers {unread[0].name!r}, but the snap's dockerd reads {item.config_path}",
            Evidence(f"{unread[0].name}, not read", unread[0].file),
        )
    if expects_containers(snapshot) and not has_nvidia_runtime(item):
        return warned(
            "the snap's dockerd cannot start the toolkit that is installed on the host",
            config_evidence(item, "its file"),
        )
    return noted("Docker is the snap: it reads its own file", config_evidence(item, "its file"))


def check_rootless(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """A user's own Docker may not change device rules: the toolkit has to be told, or devices come by CDI."""
    return each_of(snapshot, DOCKER, _judge_rootless)


def _judge_rootless(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    is_rootless = item.user is not None or (isinstance(item.daemon, EngineDaemon) and item.daemon.is_rootless is True)
    if not is_rootless:
        return skipped("it is not rootless")
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    if not has_nvidia_runtime(item):
        return noted("no runtime of NVIDIA's is registered with it: devices come by CDI, or not at all")
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    resolved = resolve_mode(snapshot, config)
    if isinstance(resolved, Unknown):
        return unseen(resolved)
    mode = resolved[0]
    if mode != "legacy":
        return passed(f"the toolkit's mode {mode} needs no device rules of its own", _mode_evidence(config, mode))
    if config.is_true(NO_CGROUPS):
        return passed(f"{NO_CGROUPS} is true, as a rootless engine needs it", _mode_evidence(config, mode))
    return failed(
        f"{item.user or 'its user'} may not change device rules, but {NO_CGROUPS} is false: no GPU container starts",
        Evidence(f"{NO_CGROUPS} = false", config.path),
        _mode_evidence(config, mode),
        config_evidence(item, "the engine's file"),
        remedy=_rootless_remedy(item),
    )


def _mode_evidence(config: "ToolkitConfig", mode: str) -> Evidence:
    return Evidence(f"mode {mode}", config.path)


def _rootless_remedy(item: "EngineInstallation") -> Remedy:
    return Remedy(
        "Use CDI for the rootless engine; or switch the device rules off, which breaks root's own Docker in this mode",
        (
            configure_command(item, "--enable-cdi"),
            restart_command(item),
            Command(f"ctk config set {NO_CGROUPS}=true # only where no engine of root's uses GPUs"),
        ),
    )


def check_desktop(snapshot: "Snapshot") -> Outcome:
    """Desktop runs Docker in a virtual machine that has no GPU and reads none of the host's files."""
    why = nothing_to_serve(snapshot)
    if why:
        return skipped(why)
    if snapshot.system.wsl is not None:
        return skipped("under WSL Docker Desktop serves GPUs")
    context = snapshot.docker_context
    if isinstance(context, Unknown):
        return unseen(context)
    if not is_desktop_context(context):
        return passed("the docker command talks to this host's engine")
    return warned(desktop_warning(context) or "", Evidence(f"context {context}", "~/.docker/config.json"))
