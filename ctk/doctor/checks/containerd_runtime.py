"""containerd for Kubernetes: NVIDIA's runtime, its program, its cgroups, CDI, and whether all of it is in force."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.containerd_files import CONTAINERD, TWO
from ctk.doctor.checks.docker_kinds import judge_running
from ctk.doctor.checks.engine_applies import (
    REINSTALL,
    config_evidence,
    configure_command,
    each_of,
    files_of,
    has_device,
    is_idle,
    is_later,
    judge_programs,
    nvidia_runtimes,
    nvidia_specs,
    restart_command,
    serves_pods,
    version_of,
    visible_specs,
)
from ctk.doctor.checks.toolkit_applies import without_toolkit
from ctk.doctor.model import (
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
from ctk.engines.containerd_reading import plugin_table
from ctk.facts import Unknown
from ctk.facts.engines import MAYBE_IMPORTED

if TYPE_CHECKING:
    from ctk.facts.engines import EngineFiles, EngineInstallation, EngineRuntime
    from ctk.facts.snapshot import Snapshot

RUNC_SHIM = "io.containerd.runc."
STOCK = "runc"
K0S_CONTROLLER = "k0scontroller.service"
SELF_CONFIGURING = frozenset({"k3s", "rke2"})
"""They look for NVIDIA's runtime at every start and register it themselves (docs.k3s.io, advanced)."""


def check_running(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """The kubelet and Docker depend on it."""
    return each_of(snapshot, CONTAINERD, _judge_running)


def _judge_running(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    if item.installation in ("docker", "docker-snap"):
        return skipped("dockerd starts it when it needs it")
    if item.unit == K0S_CONTROLLER and item.running is False:
        return noted("k0s runs as a controller, which starts containerd only if it is a worker too")
    return judge_running(snapshot, item)


def check_registered(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Pods with runtimeClassName: nvidia need the entry; devices by CDI name do not."""
    return each_of(snapshot, CONTAINERD, _judge_registered)


def _judge_registered(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    outside = without_toolkit(snapshot)
    if outside is not None:
        return outside
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    entries = nvidia_runtimes(item)
    if entries:
        return passed(
            "NVIDIA's runtime is registered",
            *(Evidence(f"{entry.name} = {entry.path}", entry.file or item.config_path) for entry in entries),
        )
    if not serves_pods(item) or is_idle(item):
        return skipped("no kubelet uses it")
    gpu = has_device(snapshot)
    if isinstance(gpu, Unknown):
        return unseen(gpu)
    if not gpu:
        return skipped("there is no NVIDIA GPU here for containers")
    specs = visible_specs(snapshot, item) if uses_cdi(item, files) is not False else ()
    if isinstance(specs, Unknown):
        return unseen(specs)
    if specs:
        return noted("no runtime of NVIDIA's is registered; CDI serves the GPUs", Evidence("CDI spec", specs[0].path))
    maybe = [entry for entry in item.unread if entry.reason == MAYBE_IMPORTED]
    if maybe:
        return unseen(Unknown(f"from 2.2 on containerd imports {maybe[0].file}, and its version is not known"))
    table = plugin_table(files.config_version)
    return failed(
        f"no runtime of NVIDIA's is registered: pods that ask for the handler nvidia do not start; {item.config_path} "
        f"has no table [{table}.nvidia]",
        config_evidence(item, f"runtimes: {', '.join(entry.name for entry in files.runtimes) or 'none'}"),
        *(Evidence("read too", path) for path in item.drop_ins[:3]),
        remedy=_register_remedy(item),
    )


def _register_remedy(item: "EngineInstallation") -> Remedy:
    if item.installation in SELF_CONFIGURING:
        return Remedy(
            f"Restart {item.installation}: it registers the toolkit's runtime by itself when it starts; containers "
            "keep running",
            (restart_command(item),),
        )
    return Remedy(
        "Register it, then restart containerd; its containers keep running",
        (configure_command(item), restart_command(item)),
    )


def uses_cdi(item: "EngineInstallation", files: "EngineFiles") -> bool | None:
    """Whether pods get CDI devices: the switch, else its default, on from 2.0; None: the version is not known."""
    if files.cdi_enabled is not None:
        return files.cdi_enabled
    version = version_of(item)
    return None if version is None else version >= TWO


def check_binary(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """As the default runtime, a missing program fails every pod, the one that would install it anew too."""
    return each_of(snapshot, CONTAINERD, _judge_binary)


def _judge_binary(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    del snapshot
    return judge_programs(
        item,
        lambda is_default: binary_remedy(item, is_default),
        stops="no new pod starts",
        setting="{name}: {path}",
        nothing="no runtime of NVIDIA's is registered",
    )


def binary_remedy(item: "EngineInstallation", is_default: bool) -> Remedy:
    """A default that cannot be started has to go first: nothing else can."""
    first = (
        f"Make runc the default in {item.config_path} first, so that pods start again; then install the toolkit"
        if is_default
        else "Install the toolkit again, or register the path where it is now"
    )
    return Remedy(
        f"{first}; restart {item.engine}, its containers keep running",
        (
            *REINSTALL,
            configure_command(item),
            restart_command(item),
        ),
    )


def check_systemd_cgroup(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Two managers of one hierarchy: pods of the odd runtime are killed at random."""
    return each_of(snapshot, CONTAINERD, _judge_systemd_cgroup)


def _judge_systemd_cgroup(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    del snapshot
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    ours = [entry for entry in nvidia_runtimes(item) if _is_runc(entry)]
    if not serves_pods(item) or not ours:
        return skipped("no kubelet uses it" if not serves_pods(item) else "no runtime of NVIDIA's is registered")
    if files.dangling_default is not None:
        return skipped("its default runtime is not there to compare with")
    base = _base(files)
    wanted = base is not None and base.systemd_cgroup is True
    odd = [entry for entry in ours if (entry.systemd_cgroup is True) is not wanted]
    name = base.name if base is not None else STOCK
    if odd:
        return failed(
            f"SystemdCgroup is {_word(wanted)} for {name} and {_word(not wanted)} for {odd[0].name}: two managers of "
            "one hierarchy",
            Evidence(f"{name}: SystemdCgroup = {_word(wanted)}", (base.file if base else None) or item.config_path),
            *(Evidence(f"{entry.name}: SystemdCgroup = {_word(not wanted)}", str(entry.file)) for entry in odd),
            remedy=_cgroup_remedy(item, odd[0]),
        )
    return passed(f"SystemdCgroup is {_word(wanted)} for {name} and for NVIDIA's runtime")


def _is_runc(entry: "EngineRuntime") -> bool:
    return entry.kind is None or entry.kind.startswith(RUNC_SHIM)


def _base(files: "EngineFiles") -> "EngineRuntime | None":
    """The runtime that pods get who ask for none, unless that is NVIDIA's; None: it is containerd's built-in runc."""
    names = (files.default_runtime, STOCK)
    others = [entry for entry in files.runtimes if not entry.name.startswith("nvidia") and _is_runc(entry)]
    return next((entry for name in names for entry in others if entry.name == name), None)


def _word(value: bool) -> str:
    return "true" if value else "false"


def _cgroup_remedy(item: "EngineInstallation", odd: "EngineRuntime") -> Remedy:
    return Remedy(
        "Give both tables the kubelet's manager, which is nearly always systemd: SystemdCgroup = true below options "
        f"of {odd.name} in {odd.file}; then restart containerd, and the pods of that runtime",
        (restart_command(item),),
    )


def check_restart_needed(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """containerd reads its files once, when it starts."""
    return each_of(snapshot, CONTAINERD, judge_restart)


def judge_restart(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    """By times: the file that holds NVIDIA's runtime counts, another one is only told."""
    del snapshot
    if isinstance(item.running, Unknown):
        return unseen(item.running)
    if not item.running:
        return skipped("it does not run: it reads its files when it starts")
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    since = item.running_since
    if not isinstance(since, str):
        return unseen(since if isinstance(since, Unknown) else Unknown("its start time is not known"))
    times = (
        Evidence(f"changed {files.changed_at}", files.changed_path or item.config_path),
        Evidence(f"runs since {since}", f"/proc/{item.pid}/stat"),
    )
    if not is_later(files.changed_at, since):
        return passed(f"{item.engine} started after the last change of its files", *times)
    if not is_later(files.runtime_changed_at, since):
        return noted(f"{files.changed_path} was changed after {item.engine} started; NVIDIA's runtime was not", *times)
    return _judge_later(item, files, times)


def _judge_later(item: "EngineInstallation", files: "EngineFiles", times: tuple[Evidence, ...]) -> Outcome:
    """CRI-O takes runtimes up on a reload, too, which leaves no trace in the time of its start."""
    message = f"the files with NVIDIA's runtime were changed after {item.engine} started ({files.runtime_changed_at})"
    if item.engine == CONTAINERD:
        remedy = Remedy("Restart containerd; its containers keep running", (restart_command(item),))
        return failed(f"{message}: they are not in force", *times, remedy=remedy)
    remedy = Remedy(
        "Reload it: that covers runtimes; other settings need a restart, which stops no container",
        (restart_command(item, reload=True), restart_command(item)),
    )
    return warned(f"{message}; whether it was reloaded since is not known", *times, remedy=remedy)


def check_cdi(snapshot: "Snapshot") -> tuple[Outcome, ...]:
    """Off is a fault where Kubernetes' plugins hand out CDI devices."""
    return each_of(snapshot, CONTAINERD, _judge_cdi)


def _judge_cdi(snapshot: "Snapshot", item: "EngineInstallation") -> Outcome:
    files = files_of(item)
    if isinstance(files, Outcome):
        return files
    if not serves_pods(item):
        return skipped("no kubelet uses it")
    on = uses_cdi(item, files)
    said = "not said" if files.cdi_enabled is None else _word(files.cdi_enabled)
    evidence = config_evidence(item, f"enable_cdi: {said}")
    if on is None:
        return unseen(Unknown("its version is not known, and the files do not say whether CDI is on"))
    if on:
        return passed("CDI is on", evidence)
    specs = nvidia_specs(snapshot, pods=True)
    if isinstance(specs, Unknown):
        return unseen(specs)
    if not specs:
        return noted("CDI is off: pods cannot get devices by name", evidence)
    return failed(
        "a plugin of Kubernetes hands out CDI devices, but CDI is off in containerd: pods start without GPUs",
        evidence,
        *(Evidence("CDI spec of a plugin", file.path) for file in specs[:3]),
        remedy=Remedy(
            "Switch CDI on, then restart containerd; its containers keep running",
            (configure_command(item, "--enable-cdi"), restart_command(item)),
        ),
    )
