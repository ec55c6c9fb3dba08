"""What Docker can hand out of GPUs: devices by CDI name, and `docker run --gpus`."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.docker_kinds import CDI_SINCE, SNAP
from ctk.doctor.checks.engine_applies import (
    config_evidence,
    configure_command,
    each_of,
    files_of,
    has_device,
    has_nvidia_runtime,
    reader_folders,
    restart_command,
    version_of,
    visible_specs,
)
from ctk.doctor.checks.toolkit_applies import HOOK, RUNTIMES, find_tool
from ctk.doctor.model import (
    APT,
    RED_HAT,
    SUSE,
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    noted,
    passed,
    skipped,
    unseen,
)
from ctk.facts import Unknown
from ctk.facts.engines import EngineDaemon

if TYPE_CHECKING:
    from ctk.facts.cdi import CdiFile
    from ctk.facts.engines import EngineInstallation
    from ctk.facts.snapshot import Snapshot

DOCKER = "docker"
INFO = "GET /info"
GPUS_BY_CDI_SINCE = (29, 2)
"""--gpus asks for CDI devices first, and for the hook after that (Docker Engine 29.2 release notes, moby 50228)."""
PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""What systemd gives a service that sets no PATH (systemd.exec(5)), merged and split /usr alike."""
GENERATE = "ctk cdi generate --output=/var/run/cdi/nvidia.yaml"


def check_cdi(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Off is a fault only where it was asked for, or where nothing else serves the GPUs."""
    return each_of(snapshot, DOCKER, _judge_cdi)


def _judge_cdi(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    outside = _not_asked(item)
    if outside is not None:
        return outside
    daemon = item.daemon
    files = files_of(item)
    if isinstance(files, Outcome) or not isinstance(daemon, EngineDaemon):
        return files if isinstance(files, Outcome) else unseen(Unknown("dockerd was not asked"))
    specs = visible_specs(snapshot, item)
    if daemon.cdi_directories:
        return _judge_discovered(daemon, specs)
    version = version_of(item)
    if files.cdi_enabled is True:
        is_old = version is not None and version < CDI_SINCE
        return failed(
            "features.cdi is true, but this Docker cannot use CDI: that came with 25"
            if is_old
            else "features.cdi is true in the file, but CDI is off in the running dockerd",
            config_evidence(item, "features.cdi = true"),
            Evidence("CDISpecDirs: none", INFO),
            remedy=Remedy("Restart Docker: a reload does not switch CDI on", (restart_command(item),)),
        )
    if isinstance(specs, Unknown):
        return unseen(specs)
    if specs and not has_nvidia_runtime(item) and not _has_runtime(snapshot) and _can_cdi(version):
        return failed(
            "a CDI spec is there and no runtime of NVIDIA's, but CDI is off in dockerd",
            Evidence("CDI spec", specs[0].path),
            Evidence("CDISpecDirs: none", INFO),
            remedy=_enable_remedy(item),
        )
    return noted("CDI is off in dockerd: devices cannot be asked for by name", Evidence("CDISpecDirs: none", INFO))


def _not_asked(item: "EngineInstallation") -> Outcome | None:
    if isinstance(item.running, Unknown):
        return unseen(item.running)
    if not item.running:
        return skipped("it does not run")
    return unseen(item.daemon) if isinstance(item.daemon, Unknown) else None


def _can_cdi(version: tuple[int, int] | None) -> bool:
    return version is not None and version >= CDI_SINCE


def _has_runtime(snapshot: "Snapshot") -> bool:
    tools = (find_tool(snapshot, name) for name in RUNTIMES)
    return any(tool is not None and isinstance(tool.path, str) for tool in tools)


def _judge_discovered(daemon: EngineDaemon, specs: "tuple[CdiFile, ...] | Unknown") -> Outcome:
    folders = Evidence(", ".join(daemon.cdi_directories or ()), f"{INFO}, CDISpecDirs")
    if daemon.cdi_devices:
        found = Evidence(", ".join(daemon.cdi_devices[:4]), f"{INFO}, DiscoveredDevices")
        return passed(f"dockerd has discovered {len(daemon.cdi_devices)} devices of NVIDIA's", found, folders)
    if isinstance(specs, Unknown):
        return unseen(specs)
    if not specs:
        return noted("CDI is on in dockerd, and there is no spec of NVIDIA's", folders)
    if daemon.cdi_devices is None:
        return passed("CDI is on in dockerd, and a spec is there", Evidence("CDI spec", specs[0].path), folders)
    return failed(
        f"dockerd has discovered none of the devices in {specs[0].path}",
        Evidence("no device of NVIDIA's", f"{INFO}, DiscoveredDevices"),
        Evidence("CDI spec", specs[0].path),
        folders,
        remedy=Remedy(
            "Look at the spec's faults, and write it anew", (Command("ctk cdi generate --output=" + specs[0].path),)
        ),
    )


def _enable_remedy(item: "EngineInstallation") -> Remedy:
    return Remedy(
        "Switch CDI on; a reload does not do it, dockerd has to start anew",
        (configure_command(item, "--enable-cdi"), restart_command(item)),
    )


def check_gpus_flag(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """dockerd looks for the hook's name in its own PATH when it starts; newer ones take CDI devices first."""
    return each_of(snapshot, DOCKER, _judge_gpus)


def _judge_gpus(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    gpu = has_device(snapshot)
    if isinstance(gpu, Unknown):
        return unseen(gpu)
    if not gpu:
        return skipped("there is no NVIDIA GPU here: `docker run --gpus` fails, whatever is installed")
    if item.running is False or item.installation == SNAP:
        return skipped("it does not run" if item.running is False else "the snap brings programs of its own")
    version = version_of(item)
    by_cdi = version is not None and version >= GPUS_BY_CDI_SINCE
    devices = item.daemon.cdi_devices if isinstance(item.daemon, EngineDaemon) else None
    if by_cdi and devices:
        return passed("--gpus is served by CDI", Evidence(devices[0], f"{INFO}, DiscoveredDevices"))
    hook = find_tool(snapshot, HOOK)
    path = snapshot.toolkit if isinstance(snapshot.toolkit, Unknown) else hook.path if hook is not None else None
    if isinstance(path, Unknown):
        return unseen(path)
    if path is not None and _is_on_path(item, path):
        return passed("--gpus is served by the hook", Evidence("in dockerd's PATH", path))
    return _judge_without_hook(snapshot, item, path, by_cdi)


def _is_on_path(item: "EngineInstallation", path: str) -> bool:
    return path.rpartition("/")[0] in (item.search_path or PATH)


def _judge_without_hook(snapshot: "Snapshot", item: "EngineInstallation", path: str | None, by_cdi: bool) -> Outcome:
    specs = visible_specs(snapshot, item)
    if isinstance(specs, Unknown):
        return unseen(specs)
    folders = Evidence(f"no {HOOK}", ", ".join(item.search_path or PATH))
    elsewhere = (Evidence("outside dockerd's PATH", path),) if path is not None else ()
    if specs:
        return noted(
            "--gpus is not served: there is no hook; ask for devices by name, --device nvidia.com/gpu=all",
            Evidence("CDI spec", specs[0].path),
            folders,
            *elsewhere,
        )
    if by_cdi:
        places = " or ".join(reader_folders(item))
        return failed(
            f"`docker run --gpus` fails: there is no CDI spec of NVIDIA's in {places}, and no hook",
            Evidence("no spec of NVIDIA's", places),
            folders,
            *elsewhere,
            remedy=Remedy("Write the spec; this Docker uses it at once", (Command(GENERATE),)),
        )
    return failed(
        f"`docker run --gpus` fails: {HOOK} is not in dockerd's PATH", folders, *elsewhere, remedy=_hook_remedy(item)
    )


def _hook_remedy(item: "EngineInstallation") -> Remedy:
    return Remedy(
        "Install the toolkit with its hook, then restart Docker: it looks for the hook only when it starts",
        (
            Command("apt-get install nvidia-container-toolkit", only_on=APT),
            Command("dnf install nvidia-container-toolkit", only_on=(RED_HAT,)),
            Command("zypper install nvidia-container-toolkit", only_on=(SUSE,)),
            restart_command(item),
        ),
    )
