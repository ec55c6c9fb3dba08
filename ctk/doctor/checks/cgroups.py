"""Control groups: whether device rules can be made, who manages the groups, and what a daemon-reload takes away."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.engine_applies import (
    config_evidence,
    is_later,
    nothing_to_serve,
    restart_command,
    serves_pods,
    subject_of,
)
from ctk.doctor.checks.toolkit_applies import CLI, HOOK, config_of, engines_of, find_tool, resolve_mode
from ctk.doctor.model import (
    UNKNOWN,
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
from ctk.engines.reading import version_numbers
from ctk.facts import Unknown
from ctk.facts.cgroups import V2, Cgroups, ContainerScope, ManagerReload, missing_links
from ctk.facts.device_nodes import DeviceNodes
from ctk.facts.engines import EngineDaemon
from ctk.facts.kernel import Kernel

if TYPE_CHECKING:
    from ctk.facts.engines import EngineInstallation
    from ctk.facts.snapshot import Snapshot

GROUP = "Cgroups and device control"
SYSTEMD, CGROUPFS = "systemd", "cgroupfs"
V2_SINCE = (1, 8)
"""libnvidia-container writes device rules of version 2 from this release on (its changelog, 1.8.0)."""
NO_CGROUPS, LOAD_KMODS = "nvidia-container-cli.no-cgroups", "nvidia-container-cli.load-kmods"
LEGACY_WORDS = "mode legacy"
DISTRIBUTIONS = frozenset({"k3s", "rke2", "microk8s", "k0s"})
SHOWN = 4


def cgroups_of(snapshot: "Snapshot") -> Cgroups | Outcome:
    """What is known of the groups; an outcome where nobody asks for them, or could not look."""
    why = nothing_to_serve(snapshot)
    if why:
        return skipped(why)
    return unseen(snapshot.cgroups) if isinstance(snapshot.cgroups, Unknown) else snapshot.cgroups


def check_mode(snapshot: "Snapshot") -> Outcome:
    """A fact for the other checks."""
    cgroups = cgroups_of(snapshot)
    if isinstance(cgroups, Outcome):
        return cgroups
    if isinstance(cgroups.mode, Unknown):
        return unseen(cgroups.mode)
    if cgroups.mode is None:
        return noted("no control groups are mounted", Evidence("no hierarchy", "/sys/fs/cgroup"))
    controllers = ", ".join(cgroups.controllers) if isinstance(cgroups.controllers, tuple) else "controllers not known"
    words = {V2: "version 2", "v1": "version 1", "hybrid": "version 1, with an empty version 2 beside it"}
    return noted(f"control groups of {words.get(cgroups.mode, cgroups.mode)}", Evidence(controllers, "/sys/fs/cgroup"))


def check_device_programs(snapshot: "Snapshot") -> Outcome:
    """On version 2 a device rule is a BPF program: the kernel has to take it, the toolkit to write it."""
    cgroups = cgroups_of(snapshot)
    if isinstance(cgroups, Outcome):
        return cgroups
    if isinstance(cgroups.mode, Unknown):
        return unseen(cgroups.mode)
    mapped = _judge_user_namespace(snapshot)
    if mapped is not None:
        return mapped
    if cgroups.mode != V2:
        return skipped("device rules are of version 1 here")
    old = _old_library(snapshot)
    if old is not None:
        return failed(
            f"libnvidia-container {old.value} knows only control groups of version 1, and this host has version 2",
            old,
            Evidence("version 2", "/sys/fs/cgroup"),
        )
    kernel = snapshot.kernel
    option = kernel.has_option("CGROUP_BPF") if isinstance(kernel, Kernel) else None
    evidence = Evidence(f"CGROUP_BPF {'set' if option else 'not set'}", _config_path(kernel))
    if cgroups.device_programs is False or (option is False and cgroups.device_programs is not True):
        tried = (Evidence("EINVAL", "bpf(BPF_PROG_QUERY)"),) if cgroups.device_programs is False else ()
        return failed("the kernel has no device programs for control groups (CGROUP_BPF)", evidence, *tried)
    if isinstance(snapshot.toolkit, Unknown):
        return unseen(snapshot.toolkit)
    if cgroups.device_programs is True:
        return passed("the kernel tells its device programs", Evidence("it answers", "bpf(BPF_PROG_QUERY)"))
    if isinstance(cgroups.device_programs, Unknown):
        return unseen(cgroups.device_programs)
    return passed("the kernel was built with device programs", evidence) if option else unseen(Unknown("not asked"))


def _judge_user_namespace(snapshot: "Snapshot") -> Outcome | None:
    """Nobody inside a user namespace, such as an unprivileged LXC container's, may set device rules or load modules."""
    platform = snapshot.platform
    if isinstance(platform, Unknown):
        return unseen(platform)
    if platform.maps_users is not True:
        return None
    config = config_of(snapshot)
    by_hook = _uses_hook(snapshot)
    if isinstance(config, Outcome) or by_hook is None:
        return config if isinstance(config, Outcome) and config.status == UNKNOWN else None
    if isinstance(by_hook, Unknown):
        return unseen(by_hook)
    wrong = [key for key, wanted in ((NO_CGROUPS, True), (LOAD_KMODS, False)) if config.is_true(key) is not wanted]
    if not wrong:
        return passed("the toolkit leaves device rules and modules alone, as a user namespace needs it")
    is_fatal = by_hook.value == LEGACY_WORDS and NO_CGROUPS in wrong
    judge = failed if is_fatal else warned
    return judge(
        "inside a user namespace the toolkit may neither set device rules nor load modules, and it is told to: "
        "containers that get GPUs through its hook do not start",
        *(Evidence(f"{key} = {str(config.is_true(key)).lower()}", config.path) for key in wrong),
        by_hook,
        remedy=Remedy(
            "Switch both off; the host outside gives the devices and loads the modules",
            (Command(f"ctk config set {NO_CGROUPS}=true {LOAD_KMODS}=false"),),
        ),
    )


def _config_path(kernel: Kernel | Unknown) -> str:
    return (
        kernel.config_path if isinstance(kernel, Kernel) and isinstance(kernel.config_path, str) else "kernel's config"
    )


def _old_library(snapshot: "Snapshot") -> Evidence | None:
    tool = find_tool(snapshot, CLI)
    version = version_numbers(tool.version) if tool is not None else None
    if tool is None or version is None or version >= V2_SINCE:
        return None
    return Evidence(str(tool.version), str(tool.path))


def check_driver_agreement(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Two managers of one hierarchy: the node becomes unstable under pressure."""
    cgroups = cgroups_of(snapshot)
    if isinstance(cgroups, Outcome):
        return (cgroups,)
    kubelet = snapshot.kubelet
    if kubelet is None:
        return (skipped("there is no kubelet"),)
    if isinstance(kubelet, Unknown) or isinstance(snapshot.engines, Unknown):
        return (unseen(kubelet if isinstance(kubelet, Unknown) else Unknown("the engines were not looked at")),)
    items = [item for item in engines_of(snapshot) if serves_pods(item)]
    if not items:
        return (skipped("no engine was found that the kubelet uses"),)
    wanted = kubelet.cgroup_driver
    return tuple(_judge_agreement(cgroups, item, wanted)._replace(subject=subject_of(item)) for item in items)


def _judge_agreement(cgroups: Cgroups, item: "EngineInstallation", wanted: str | None | Unknown) -> Outcome:
    if DISTRIBUTIONS & set(item.used_by) and (not isinstance(wanted, str) or not _says_manager(item)):
        return skipped("the distribution sets both")
    if isinstance(wanted, Unknown):
        return unseen(wanted)
    own = cgroup_driver(cgroups, item)
    if own is None:
        return unseen(Unknown("what the engine uses could not be read"))
    if wanted is None:
        return noted(f"the engine uses {own.value}; the kubelet's files do not say what it uses", own)
    kubelet = Evidence(f"kubelet: {wanted}", "cgroupDriver")
    if own.value != wanted:
        return failed(
            f"the kubelet's cgroup driver is {wanted}, the engine's is {own.value}: unstable under load",
            kubelet,
            own,
            remedy=_agreement_remedy(item, wanted),
        )
    if own.value == CGROUPFS and cgroups.mode == V2 and isinstance(cgroups.systemd_version, int):
        return warned("kubelet and engine manage the groups themselves, beside systemd, on version 2", kubelet, own)
    return passed(f"kubelet and engine both use {own.value}", kubelet, own)


SETTINGS = {
    ("docker", SYSTEMD): '"exec-opts": ["native.cgroupdriver=systemd"]',
    ("docker", CGROUPFS): '"exec-opts": ["native.cgroupdriver=cgroupfs"]',
    ("containerd", SYSTEMD): "SystemdCgroup = true below the options of every runtime",
    ("containerd", CGROUPFS): "SystemdCgroup = false below the options of every runtime",
    ("crio", SYSTEMD): 'cgroup_manager = "systemd"',
    ("crio", CGROUPFS): 'cgroup_manager = "cgroupfs"',
}


def _agreement_remedy(item: "EngineInstallation", wanted: str) -> Remedy | None:
    """The kubelet's own choice holds: changing it on a node with pods is the larger step."""
    setting = SETTINGS.get((item.engine, wanted))
    if setting is None:
        return None
    return Remedy(
        f"Drain the node, write {setting} into {item.config_path}, then restart the engine and after it the kubelet",
        (restart_command(item), Command("systemctl restart kubelet", restarts=("kubelet",))),
    )


def _says_manager(item: "EngineInstallation") -> bool:
    """Some runtime in the files has a value for SystemdCgroup."""
    return not isinstance(item.files, Unknown) and any(
        entry.systemd_cgroup is not None for entry in item.files.runtimes
    )


def cgroup_driver(cgroups: Cgroups, item: "EngineInstallation") -> Evidence | None:
    """Who manages the groups of an engine's containers, and what says so; None: it cannot be told."""
    daemon, files = item.daemon, item.files
    if isinstance(daemon, EngineDaemon) and daemon.cgroup_driver:
        return Evidence(daemon.cgroup_driver, "GET /info")
    if isinstance(files, Unknown):
        return None
    if item.engine == "containerd":
        if files.dangling_default is not None:
            return None
        name = files.default_runtime or "runc"
        entry = next((entry for entry in files.runtimes if entry.name == name), None)
        value = SYSTEMD if entry is not None and entry.systemd_cgroup is True else CGROUPFS
        return config_evidence(item, value)._replace(source=(entry.file if entry else None) or item.config_path)
    if files.cgroup_driver:
        return config_evidence(item, files.cgroup_driver)
    if item.engine == "docker" and not isinstance(cgroups.mode, str):
        return None
    default = SYSTEMD if item.engine == "crio" or cgroups.mode == V2 else CGROUPFS
    return Evidence(default, "its default")


def check_reload_risk(snapshot: "Snapshot") -> Outcome:
    """What the hook adds is unknown to systemd, and to the low-level runtime: the next reload takes it away."""
    cgroups = cgroups_of(snapshot)
    if isinstance(cgroups, Outcome):
        return cgroups
    if cgroups.systemd_version is None:
        return skipped("there is no systemd")
    found = containers_at_risk(snapshot, cgroups)
    if isinstance(found, Outcome):
        return found
    links = _links_evidence(snapshot)
    if not found:
        return noted("a daemon-reload would take GPUs from containers; none that uses one runs", links)
    return warned(
        f"{len(found)} running containers lose their GPUs at the next daemon-reload",
        *(_container_evidence(scope) for scope in found[:SHOWN]),
        links,
    )


def containers_at_risk(snapshot: "Snapshot", cgroups: Cgroups) -> tuple[ContainerScope, ...] | Outcome:
    """Containers with a GPU whose device rules the next reload would lose; an outcome where there is no such risk."""
    nodes = snapshot.device_nodes
    if isinstance(nodes, Unknown):
        return unseen(nodes)
    by_hook = _uses_hook(snapshot)
    if isinstance(by_hook, Unknown):
        return unseen(by_hook)
    if by_hook is None:
        return passed("containers get their devices by name, which survives a reload")
    if not missing_links(nodes):
        return passed("systemd finds NVIDIA's devices by their links, should it write the rules anew", by_hook)
    scopes = cgroups.scopes
    if isinstance(scopes, Unknown) or scopes is None:
        return unseen(scopes or Unknown("the containers were not looked at"))
    pids = _gpu_pids(snapshot)
    if isinstance(pids, Unknown):
        return unseen(pids)
    return tuple(scope for scope in scopes if pids & set(scope.pids))


def _uses_hook(snapshot: "Snapshot") -> Evidence | None | Unknown:
    """What shows that devices come in behind the low-level runtime's back: legacy mode, or Docker's --gpus."""
    config = config_of(snapshot)
    resolved = (
        Unknown("the toolkit's mode is not known") if isinstance(config, Outcome) else resolve_mode(snapshot, config)
    )
    if not isinstance(resolved, Unknown) and resolved[0] == "legacy" and not isinstance(config, Outcome):
        return Evidence(LEGACY_WORDS, config.path)
    hook = find_tool(snapshot, HOOK)
    dockers = [item for item in engines_of(snapshot) if item.engine == "docker" and item.running is True]
    if hook is not None and isinstance(hook.path, str) and any(not _has_devices(item) for item in dockers):
        return Evidence("docker run --gpus uses the hook", hook.path)
    unseen_parts = [part for part in (snapshot.toolkit, snapshot.engines) if isinstance(part, Unknown)]
    if unseen_parts:
        return unseen_parts[0]
    return resolved if isinstance(resolved, Unknown) and not isinstance(config, Outcome) else None


def _has_devices(item: "EngineInstallation") -> bool:
    return isinstance(item.daemon, EngineDaemon) and bool(item.daemon.cdi_devices)


def _gpu_pids(snapshot: "Snapshot") -> frozenset[int] | Unknown:
    nvml = snapshot.nvml
    if nvml is None or isinstance(nvml, Unknown) or isinstance(nvml.gpus, Unknown):
        return Unknown("which processes use GPUs was not told")
    lists = [gpu.processes for gpu in nvml.gpus if isinstance(gpu.processes, tuple)]
    return frozenset(process.pid for processes in lists for process in processes)


def _links_evidence(snapshot: "Snapshot") -> Evidence:
    nodes = snapshot.device_nodes
    names = missing_links(nodes) if isinstance(nodes, DeviceNodes) else ()
    return Evidence(f"no links {', '.join(names[:SHOWN])}", "/dev/char")


def _container_evidence(scope: ContainerScope) -> Evidence:
    return Evidence(f"container {scope.container[:12]}, started {scope.started_at}", scope.unit)


def check_reload_happened(snapshot: "Snapshot") -> Outcome:
    """Names the minute since which a container fails, and who asked for the reload."""
    cgroups = cgroups_of(snapshot)
    if isinstance(cgroups, Outcome):
        return cgroups
    if cgroups.systemd_version is None:
        return skipped("there is no systemd")
    found = containers_at_risk(snapshot, cgroups)
    if isinstance(found, Outcome):
        return found if found.status == "unknown" else skipped("no container here depends on what a reload takes away")
    if isinstance(cgroups.reloads, Unknown) or cgroups.reloads is None:
        return unseen(cgroups.reloads or Unknown("the journal was not asked"))
    for reload in cgroups.reloads:
        hit = [scope for scope in found if scope.started_at is not None and is_later(reload.at, scope.started_at)]
        if hit:
            return _tell_reload(reload, hit)
    return passed("systemd has not reloaded since the containers with GPUs were started")


def _tell_reload(reload: ManagerReload, hit: list[ContainerScope]) -> Outcome:
    who = f", asked by {reload.requester}" if reload.requester else ""
    return failed(
        f"systemd reloaded at {reload.at}{who}: {len(hit)} containers that ran then have most likely lost their GPUs",
        Evidence(f"reload at {reload.at}{who}", "journal, systemd[1]"),
        *(_container_evidence(scope) for scope in hit[:SHOWN]),
    )
