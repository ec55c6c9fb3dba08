"""Engines together, Podman, and the low-level runtimes below them all."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import version_tuple
from ctk.doctor.checks.engine_applies import (
    GROUP,
    each_of,
    files_of,
    has_device,
    nothing_to_serve,
    nvidia_specs,
    reader_folders,
    subject_of,
    version_of,
    visible_specs,
)
from ctk.doctor.checks.toolkit_applies import OWN_RUNTIME, engines_of, find_tool
from ctk.doctor.model import (
    HIGH,
    INSTALL,
    MEDIUM,
    TRIAGE,
    Check,
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
from ctk.facts import Unknown

if TYPE_CHECKING:
    from ctk.facts.cgroups import Cgroups
    from ctk.facts.engines import EngineInstallation
    from ctk.facts.snapshot import Snapshot
    from ctk.facts.toolkit import ToolBinary

PODMAN = "podman"
RUNTIMES = ("nvidia-container-runtime", "nvidia-container-runtime-hook", OWN_RUNTIME)
PODMAN_CDI_SINCE = (4, 1)
LINKS_FIRST, LINKS_LAST = (1, 1, 3), (1, 1, 6)
"""runc's changelog: these pass over a device rule whose /dev/char link is missing; 1.1.7 leaves that to systemd."""
PATH_RULES_SINCE = 240
"""systemd before this release looks for the device's path when it applies DeviceAllow= (runc 1.1.7, changelog)."""


def check_any(snapshot: "Snapshot") -> Outcome:
    """A toolkit without an engine serves nobody; a machine without both is no fault."""
    why = nothing_to_serve(snapshot)
    if why:
        return skipped(why)
    engines = snapshot.engines
    if isinstance(engines, Unknown):
        return unseen(engines)
    if not engines:
        return _judge_none(snapshot)
    working = [item for item in engines if item.running is True or item.engine == PODMAN]
    if working:
        return passed(f"{_names(working)} can run containers", *(_seen(item) for item in working))
    hidden = next((item.running for item in engines if isinstance(item.running, Unknown)), None)
    if hidden is not None:
        return unseen(hidden)
    message, evidence = f"{_names(engines)} is installed, and none of it runs", [_seen(item) for item in engines]
    is_told = any(item.enabled is True for item in engines)  # by the check of an engine that should run
    return noted(message, *evidence) if is_told else warned(message, *evidence)


def _judge_none(snapshot: "Snapshot") -> Outcome:
    tools = [
        tool for name in RUNTIMES if (tool := find_tool(snapshot, name)) is not None and isinstance(tool.path, str)
    ]
    if not tools:
        return skipped("there is neither an engine nor a toolkit: nobody runs containers here")
    others = snapshot.other_engines
    if isinstance(others, Unknown):
        return unseen(others)
    if others:
        names = ", ".join(path.rpartition("/")[2] for path in others)
        return noted(f"{names} runs containers in ways of its own", *(Evidence("program", path) for path in others))
    return failed(
        "a toolkit is installed, but no container engine",
        *(Evidence("toolkit", str(tool.path)) for tool in tools),
        Evidence("no docker, containerd, crio or podman", "programs, units and markers of every known kind"),
    )


def _names(items: "tuple[EngineInstallation, ...] | list[EngineInstallation]") -> str:
    return ", ".join(subject_of(item) for item in items)


def _seen(item: "EngineInstallation") -> Evidence:
    version = f" {item.version}" if isinstance(item.version, str) else ""
    state = "runs" if item.running is True else "does not run"
    users = f", used by {' and '.join(item.used_by)}" if item.used_by else ""
    return Evidence(f"{subject_of(item)}{version}, {state}{users}", item.socket or str(item.binary))


def check_podman_version(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Podman takes CDI names for files before 4.1."""
    return each_of(snapshot, PODMAN, _judge_podman_version, is_named=False)


def _judge_podman_version(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    version = version_of(item)
    if version is None:
        return unseen(item.version if isinstance(item.version, Unknown) else Unknown("it names no version"))
    evidence = Evidence(str(item.version), str(item.binary))
    if version >= PODMAN_CDI_SINCE:
        return passed(f"Podman {item.version} reads CDI specs", evidence)
    specs = nvidia_specs(snapshot)
    others = [other for other in engines_of(snapshot) if other.engine != PODMAN]
    if isinstance(specs, tuple) and specs and not others:
        return failed(
            f"Podman {item.version} does not read CDI specs, which came with 4.1, and there is no other engine",
            evidence,
            Evidence("CDI spec", specs[0].path),
        )
    return noted(f"Podman {item.version} does not read CDI specs, which came with 4.1", evidence)


def check_podman_cdi(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Podman reads its own folders, for root and for users."""
    return each_of(snapshot, PODMAN, _judge_podman_cdi, is_named=False)


def _judge_podman_cdi(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    gpu = has_device(snapshot)
    specs = nvidia_specs(snapshot)
    if isinstance(gpu, Unknown) or isinstance(specs, Unknown):
        return unseen(gpu if isinstance(gpu, Unknown) else specs)  # type: ignore[arg-type] # one of the two is Unknown
    if not gpu or not specs:
        return skipped("there is no NVIDIA GPU here" if not gpu else "there is no CDI spec of NVIDIA's")
    seen = visible_specs(snapshot, item)
    folders = ", ".join(reader_folders(item))
    if not seen:
        return failed(
            f"Podman reads CDI specs in {folders} only, and none of NVIDIA's is there",
            Evidence(f"cdi_spec_dirs: {folders}", item.config_path),
            *(Evidence("CDI spec", file.path) for file in specs),
        )
    closed = [file for file in specs if file.mode is not None and not file.mode & 0o004]
    if closed and len(closed) == len(specs):
        return warned(
            f"only root can read {closed[0].path}: rootless containers find no device",
            Evidence(f"mode {closed[0].mode or 0:04o}", closed[0].path),
            remedy=Remedy("Let all users read it", (Command(f"chmod 0644 {closed[0].path}"),)),
        )
    return passed("Podman finds the spec", *(Evidence("CDI spec", file.path) for file in specs))


def check_podman_hooks(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """A hook file injects into every container that asks by environment, CDI devices or not."""
    return each_of(snapshot, PODMAN, _judge_podman_hooks, is_named=False)


def _judge_podman_hooks(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    del item
    setup = snapshot.toolkit_setup
    hooks = setup if isinstance(setup, Unknown) else setup.hooks
    if isinstance(hooks, Unknown):
        return unseen(hooks)
    if not hooks:
        return passed("no hook file of NVIDIA's is there")
    specs = nvidia_specs(snapshot)
    if isinstance(specs, Unknown):
        return unseen(specs)
    files = tuple(Evidence(f"starts {hook.program}", hook.file) for hook in hooks)
    remedy = Remedy(
        "Take the hook file away; ask for devices by CDI name: --device nvidia.com/gpu=all",
        tuple(Command(f"mv {hook.file} /root/") for hook in hooks),
    )
    if not specs:
        spec = Command("ctk cdi generate --output=/etc/cdi/nvidia.yaml")
        remedy = Remedy(f"Write a CDI spec first, then: {remedy.summary}", (spec, *remedy.commands))
        return warned("Podman injects GPUs by a hook file, which is deprecated", *files, remedy=remedy)
    return failed(
        "a hook file and a CDI spec both inject GPUs into Podman's containers: they get everything twice, or fail",
        *files,
        *(Evidence("CDI spec", file.path) for file in specs),
        remedy=remedy,
    )


def check_runc_version(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Releases that lose device rules; security is judged elsewhere."""
    why = nothing_to_serve(snapshot)
    if why:
        return (skipped(why),)
    cgroups = snapshot.cgroups
    if isinstance(cgroups, Unknown):
        return (unseen(cgroups),)
    found = [tool for tool in cgroups.runtimes if tool.path is not None]
    if not found:
        return (skipped("neither runc nor crun is in the system's folders"),)
    return tuple(_judge_runtime(cgroups, tool)._replace(subject=tool.name) for tool in found)


def _judge_runtime(cgroups: "Cgroups", tool: "ToolBinary") -> Outcome:
    if not isinstance(tool.path, str):
        return unseen(tool.path or Unknown("not there"))
    if not isinstance(tool.version, str):
        return unseen(tool.version if isinstance(tool.version, Unknown) else Unknown("it names no version"))
    evidence = Evidence(tool.version, tool.path)
    numbers = version_tuple(tool.version.partition("-")[0].partition("+")[0])
    if tool.name != "runc":
        return passed(f"{tool.name} {tool.version}", evidence)
    if LINKS_FIRST <= numbers <= LINKS_LAST:
        return warned(f"runc {tool.version} passes over device rules whose /dev/char link is missing", evidence)
    systemd = cgroups.systemd_version
    if numbers > LINKS_LAST and isinstance(systemd, int) and systemd < PATH_RULES_SINCE:
        return warned(
            f"runc {tool.version} leaves device paths to systemd, and systemd {systemd} drops a rule whose path is "
            "missing",
            evidence,
            Evidence(str(systemd), "libsystemd-shared"),
        )
    return passed(f"runc {tool.version}", evidence)


ANY_CHECKS: tuple[Check, ...] = (
    Check(
        id="runtime.any",
        title="at least one engine is installed and running",
        group=GROUP,
        layer="L9",
        severity=HIGH,
        evaluate=check_any,
        reads="every engine that was found: program, unit, process, socket; Apptainer, Enroot, LXC and their like",
        rule="fail when a toolkit is installed and no engine, warn when none of them runs",
        source="leptonai/gpud",
        explains=("Cannot connect to the Docker daemon",),
        remedy=Remedy("Install an engine, or start the one that is there", (Command("systemctl start docker"),)),
        fix="manual",
        profiles=(INSTALL, TRIAGE),
    ),
)

PODMAN_CHECKS: tuple[Check, ...] = (
    Check(
        id="runtime.podman.version",
        title="podman supports CDI",
        group=GROUP,
        layer="L9",
        severity=MEDIUM,
        evaluate=check_podman_version,
        reads="podman --version, the other engines, CDI specs",
        rule="fail before 4.1 where Podman is the only engine and a spec of NVIDIA's is there",
        source="NVIDIA/nvidia-container-toolkit 63",
        explains=("Error: stat nvidia.com/gpu=all: no such file or directory",),
        remedy=Remedy("Update Podman"),
        fix="manual",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="runtime.podman.cdi",
        title="podman sees the spec",
        group=GROUP,
        layer="L9",
        severity=HIGH,
        evaluate=check_podman_cdi,
        reads="cdi_spec_dirs in containers.conf, the CDI specs and their modes",
        rule="fail when no spec of NVIDIA's is in a folder that Podman reads, warn when only root may read it",
        source="containers.conf(5)",
        needs=("runtime.podman.version", "cdi.spec-present", "cdi.spec-dirs"),
        explains=("unresolvable CDI devices nvidia.com/gpu=all",),
        remedy=Remedy(
            "Write the spec where Podman looks", (Command("ctk cdi generate --output=/etc/cdi/nvidia.yaml"),)
        ),
        fix="safe",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="runtime.podman.hooks",
        title="no OCI hook JSON beside CDI",
        group=GROUP,
        layer="L9",
        severity=HIGH,
        evaluate=check_podman_hooks,
        reads="files in the hook folders that start a program of NVIDIA's, the CDI specs",
        rule="fail when a hook file and a CDI spec of NVIDIA's are both there, warn about a hook file alone",
        source="NVIDIA's container toolkit, CDI; oci-hooks(5)",
        needs=("runtime.podman.version", "toolkit.oci-hook-duplicate"),
        explains=("error executing hook", "mount … already exists"),
        remedy=Remedy("Take the hook file away; ask for devices by CDI name: --device nvidia.com/gpu=all"),
        fix="guarded",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="runtime.runc.version",
        title="runc/crun versions and known regressions",
        group=GROUP,
        layer="L9",
        severity=MEDIUM,
        evaluate=check_runc_version,
        reads="runc and crun in the system's folders, systemd's version",
        rule="warn on 1.1.3 to 1.1.6, and on later ones with systemd before 240",
        source="opencontainers/runc, CHANGELOG 1.1.7",
        explains=("a GPU is lost after a daemon-reload",),
        remedy=Remedy("Update runc"),
        fix="manual",
    ),
)
