"""Whether Docker has NVIDIA's runtime, and can start it."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.engine_applies import (
    REINSTALL,
    config_evidence,
    configure_command,
    each_of,
    files_of,
    flag_runtimes,
    has_device,
    has_nvidia_runtime,
    is_idle,
    judge_programs,
    nvidia_runtimes,
    others_with_runtime,
    restart_command,
    visible_specs,
)
from ctk.doctor.checks.toolkit_applies import HOOK, RUNTIMES, engines_of, find_tool, without_toolkit
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
from ctk.engines.reading import is_nvidia_runtime
from ctk.facts import Unknown
from ctk.facts.engines import OTHER_FILE, EngineDaemon

if TYPE_CHECKING:
    from ctk.facts.engines import EngineInstallation, EngineRuntime
    from ctk.facts.snapshot import Snapshot

DOCKER = "docker"


def check_registered(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """`--runtime=nvidia` and Compose's `runtime: nvidia` need the entry; devices by CDI name do not."""
    return each_of(snapshot, DOCKER, _judge_registered)


def _judge_registered(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    outside = without_toolkit(snapshot)
    if outside is not None:
        return outside
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    if has_nvidia_runtime(item):
        return _describe_registered(item)
    known = [entry.name for entry in _daemon_runtimes(item) if is_nvidia_runtime(entry.name, entry.path)]
    if known:
        return warned(
            f"the running dockerd knows {known[0]!r}, {item.config_path} does not: it is lost at the next start",
            config_evidence(item, f"no {known[0]}"),
            remedy=_register_remedy(item),
        )
    return _judge_missing(snapshot, item)


def _describe_registered(item: "EngineInstallation") -> Outcome:
    entries = [
        Evidence(f"{entry.name} = {entry.path}", entry.file or item.config_path) for entry in nvidia_runtimes(item)
    ]
    entries += [Evidence(f"{name} = {path}", "--add-runtime") for name, path in flag_runtimes(item)]
    return passed("NVIDIA's runtime is registered", *entries)


def _daemon_runtimes(item: "EngineInstallation") -> "tuple[EngineRuntime, ...]":
    return item.daemon.runtimes if isinstance(item.daemon, EngineDaemon) else ()


def _judge_missing(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    gpu = has_device(snapshot)
    if isinstance(gpu, Unknown):
        return unseen(gpu)
    if not gpu:
        return skipped("there is no NVIDIA GPU here for containers")
    if not any(_is_there(snapshot, name) for name in RUNTIMES):
        return skipped("no runtime of NVIDIA's is installed that could be registered")
    by_cdi = _served_by_cdi(snapshot, item)
    if isinstance(by_cdi, Unknown):
        return unseen(by_cdi)
    if by_cdi is not None:
        return noted("no runtime of NVIDIA's is registered, and none is needed: CDI serves the GPUs", by_cdi)
    others = others_with_runtime(snapshot, item)
    if others:
        return noted(f"NVIDIA's runtime is registered with {others}, not with this one")
    by_podman = _served_by_podman(snapshot)
    if by_podman is not None:
        return noted("no runtime of NVIDIA's is registered; Podman hands out the GPUs, by CDI", by_podman)
    if is_idle(item):
        return skipped("it does not run, and nothing starts it")
    unread = [entry for entry in item.unread if entry.reason == OTHER_FILE]
    where = f"; {unread[0].file} has it, which this dockerd does not read" if unread else ""
    if not where and _is_there(snapshot, HOOK):
        where = ": --runtime=nvidia and Compose's runtime fail, only docker run --gpus works, through the hook"
    return failed(
        f"{item.config_path} registers no runtime of NVIDIA's{where}",
        config_evidence(item, "no nvidia among the runtimes"),
        *(Evidence(f"{entry.name}, not read", entry.file) for entry in unread),
        remedy=_register_remedy(item),
    )


def _is_there(snapshot: "Snapshot", name: str) -> bool:
    tool = find_tool(snapshot, name)
    return tool is not None and isinstance(tool.path, str)


def _served_by_cdi(snapshot: "Snapshot", item: "EngineInstallation") -> Evidence | None | Unknown:
    """The GPUs by their CDI names: what dockerd has discovered, or, before 28.2, a spec where it looks for some."""
    daemon = item.daemon
    if not isinstance(daemon, EngineDaemon) or not daemon.cdi_directories:
        return None
    if daemon.cdi_devices is not None:
        return Evidence(daemon.cdi_devices[0], "GET /info, DiscoveredDevices") if daemon.cdi_devices else None
    specs = visible_specs(snapshot, item)
    if isinstance(specs, Unknown):
        return specs
    return Evidence("CDI spec", specs[0].path) if specs else None


def _served_by_podman(snapshot: "Snapshot") -> Evidence | None:
    """Podman needs no runtime entry: a spec that it sees is enough."""
    for item in engines_of(snapshot):
        specs = visible_specs(snapshot, item) if item.engine == "podman" else ()
        if isinstance(specs, tuple) and specs:
            return Evidence("CDI spec", specs[0].path)
    return None


def _register_remedy(item: "EngineInstallation") -> Remedy:
    if item.installation == "snap":
        return Remedy(
            "Use the snap's own support for NVIDIA, or Docker's packages in place of the snap, whose dockerd can start "
            "the toolkit's runtime. Save what matters first: the snap's containers, images and volumes go with it",
            (Command("snap remove docker", True, ("snap.docker.dockerd",), True),),
        )
    return Remedy(
        "Register it, and let dockerd read its file again; no container is stopped",
        (configure_command(item), restart_command(item, reload=True)),
    )


def check_binary(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """A runtime whose program is gone fails every container that asks for it; as the default, every container."""
    return each_of(snapshot, DOCKER, _judge_binary)


def _judge_binary(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    del snapshot
    return judge_programs(
        item,
        lambda _: _binary_remedy(item),
        stops="no container starts",
        setting="runtimes.{name}.path = {path}",
        nothing="no runtime of NVIDIA's is registered in its file",
    )


def _binary_remedy(item: "EngineInstallation") -> Remedy:
    return Remedy(
        "Install the toolkit again, or register the path where it is now",
        (
            *REINSTALL,
            configure_command(item),
            restart_command(item, reload=True),
        ),
    )
