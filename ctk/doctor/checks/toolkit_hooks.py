"""What else injects GPUs into containers, and what keeps the CDI spec fresh; it judges no spec."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import has_driver_container, version_tuple
from ctk.doctor.checks.toolkit_applies import (
    NVIDIA_KIND,
    engines_of,
    find_package,
    has_gpu,
    setup_of,
    toolkit_runtimes,
    toolkit_version,
)
from ctk.doctor.model import Command, Evidence, Outcome, Remedy, failed, noted, passed, skipped, unseen, warned
from ctk.facts import Unknown
from ctk.facts.kernel_log import KernelLog

if TYPE_CHECKING:
    from ctk.facts.engines import EngineInstallation
    from ctk.facts.snapshot import Snapshot
    from ctk.facts.toolkit_setup import CdiRefresh, OciHook, ToolkitSetup

HOOK_READERS = ("podman", "crio")
"""The engines that read hook folders (oci-hooks(5)); Docker and containerd do not."""
LOADING = "NVRM: loading NVIDIA"
CDI_SINCE = {"docker": (28, 2), "containerd": (2,)}
"""From these releases on an engine reads CDI specs unless it is told not to."""


def check_oci_hook_duplicate(snapshot: "Snapshot") -> Outcome:
    """A hook of the old kind acts beside the runtime or CDI; also when the toolkit itself has gone."""
    setup = snapshot.toolkit_setup
    if isinstance(setup, Unknown) or isinstance(setup.hooks, Unknown):
        return unseen(setup if isinstance(setup, Unknown) else Unknown("the hook folders could not be read"))
    if not setup.hooks:
        return passed("no hook file of NVIDIA's is in the hook folders")
    if isinstance(snapshot.engines, Unknown):
        return unseen(snapshot.engines)
    readers = [engine for engine in snapshot.engines if engine.engine in HOOK_READERS]
    evidence = [_describe_hook(hook) for hook in setup.hooks]
    if not readers:
        return noted("a hook file of NVIDIA's is there, which no engine here reads", *evidence)
    names = " and ".join(dict.fromkeys("Podman" if engine.engine == "podman" else "CRI-O" for engine in readers))
    broken = next((hook for hook in setup.hooks if hook.program_fault), None)
    if broken is not None:
        return failed(
            f"{broken.file} names a hook for the containers of {names}, but {broken.program_fault}",
            *evidence,
            remedy=_remove(broken),
        )
    first = setup.hooks[0]
    other = _other_injector(snapshot, setup, readers)
    if other is not None:
        return failed(
            f"{first.file} injects GPUs in addition to {other.value}: containers get them twice and do not start",
            *evidence,
            other,
            remedy=_remove(first),
        )
    entries = [runtime.name for engine, runtime in toolkit_runtimes(snapshot) if engine in readers]
    beside = f", in addition to the runtime {entries[0]}" if entries else ""
    return warned(f"{first.file} is a hook of the old kind for {names}{beside}", *evidence, remedy=_remove(first))


def _describe_hook(hook: "OciHook") -> Evidence:
    if hook.fault:
        return Evidence(hook.fault, hook.file)
    words = f"hook {hook.program}, {hook.program_fault or 'which is there'}"
    return Evidence(f"{words}; when: {', '.join(hook.conditions) or 'never'}", hook.file)


def _remove(hook: "OciHook") -> Remedy:
    return Remedy("Take the hook file away", (Command(f"mv {hook.file} /root/"),))


def _other_injector(
    snapshot: "Snapshot", setup: "ToolkitSetup", readers: "list[EngineInstallation]"
) -> Evidence | None:
    """A default runtime of the toolkit's, or a CDI spec that these engines read."""
    for engine, runtime in toolkit_runtimes(snapshot):
        files = engine.files
        if engine in readers and not isinstance(files, Unknown) and files.default_runtime == runtime.name:
            return Evidence(f"the default runtime {runtime.name}", runtime.file or engine.config_path)
    mode = None if isinstance(setup.config, Unknown) else setup.config.mode
    specs = mode.specs if mode is not None and not isinstance(mode, Unknown) else ()
    specs = () if isinstance(specs, Unknown) else specs
    return next((Evidence("the CDI spec", spec.path) for spec in specs if spec.kind == NVIDIA_KIND), None)


def check_cdi_refresh_enabled(snapshot: "Snapshot") -> Outcome:
    """Without it a spec in /var/run/cdi is not made anew after an update of the driver."""
    setup = setup_of(snapshot)
    if isinstance(setup, Outcome):
        return setup
    if isinstance(setup.refresh, Unknown):
        return unseen(setup.refresh)
    why = _no_refresh_needed(snapshot, setup.refresh)
    if why:
        return skipped(why)
    on = next((one for one in setup.refresh if one.path_enabled is True and not one.masked), None)
    if on is not None:
        return passed("the CDI spec is refreshed by itself", Evidence("enabled", f"{on.owner}-cdi-refresh.path"))
    hidden = next((one.path_enabled for one in setup.refresh if isinstance(one.path_enabled, Unknown)), None)
    if hidden is not None:
        return unseen(hidden)
    if not setup.refresh:
        return warned(
            "nothing refreshes the CDI spec when the driver changes", Evidence("no unit", "nvidia-cdi-refresh")
        )
    first = setup.refresh[0]
    state = "masked" if first.masked else "not enabled"
    return warned(
        f"nothing refreshes the CDI spec when the driver changes: {first.owner}-cdi-refresh.path is {state}",
        Evidence(state, first.path_unit or first.service or ""),
        remedy=_enable(first.owner),
    )


def _enable(owner: str) -> Remedy:
    units = f"{owner}-cdi-refresh.path {owner}-cdi-refresh.service"
    return Remedy("Switch the units on", (Command(f"systemctl enable --now {units}"),))


def _no_refresh_needed(snapshot: "Snapshot", refresh: "tuple[CdiRefresh, ...]") -> str:
    if has_driver_container(snapshot):
        return "the GPU Operator makes the CDI specs itself"
    from ctk.doctor.data.toolkit_problems import REFRESH_SINCE

    version = toolkit_version(snapshot)
    if not refresh and version is not None and version.numbers < REFRESH_SINCE:
        return f"the toolkit {version.text} has no such units"
    if not refresh and find_package(snapshot, "nvidia-container-toolkit-base") is None:
        return "no units of that kind are installed"
    if not any(_reads_cdi(engine) for engine in engines_of(snapshot)):
        return "no engine here is known to read CDI specs"
    return ""


def _reads_cdi(engine: "EngineInstallation") -> bool:
    if engine.engine in HOOK_READERS:
        return True
    stated = None if isinstance(engine.files, Unknown) else engine.files.cdi_enabled
    since = CDI_SINCE.get(engine.engine)
    version = version_tuple(engine.version) if isinstance(engine.version, str) else ()
    return stated is True or (stated is None and since is not None and version >= since)


def check_cdi_refresh_result(snapshot: "Snapshot") -> Outcome:
    """How the service ended that makes the spec; without a GPU it has nothing to make and ends with an error."""
    if has_gpu(snapshot) is False:
        return skipped("there is no NVIDIA GPU for containers here")
    setup = setup_of(snapshot)
    if isinstance(setup, Outcome):
        return setup
    if isinstance(setup.refresh, Unknown):
        return unseen(setup.refresh)
    asked = [one for one in setup.refresh if one.service is not None and not one.masked]
    if not asked:
        return skipped("no service refreshes the CDI spec here")
    outcomes = [_judge_refresh(snapshot, one) for one in asked]
    return min(outcomes, key=lambda outcome: ("fail", "warn", "unknown", "pass", "skip").index(outcome.status))


def _judge_refresh(snapshot: "Snapshot", one: "CdiRefresh") -> Outcome:
    unit = f"{one.owner}-cdi-refresh.service"
    if isinstance(one.result, Unknown):
        return unseen(one.result)
    if one.result is None:
        return skipped(f"{unit} has not run since the boot")
    evidence = [Evidence(f"Result={one.result}", f"systemctl show {unit}")]
    if one.condition is False:
        return warned(
            f"{unit} did nothing: it wants nvidia-ctk in /usr/bin, and nvidia-smi in /usr/bin, /usr/sbin or "
            "/usr/lib/wsl/lib",
            Evidence("ConditionResult=no", f"systemctl show {unit}"),
            remedy=_own_units(one.owner),
        )
    if one.result == "exec-condition":
        message = f"{unit} did nothing: the running kernel's modules.dep names no nvidia module"
        return warned(message, *evidence, remedy=_own_units(one.owner))
    if one.result != "success":
        status = f" (exit status {one.exit_status})" if isinstance(one.exit_status, int) else ""
        return failed(
            f"{unit} failed{status}: the CDI spec is missing or out of date", *evidence, remedy=_restart(unit)
        )
    log = snapshot.kernel_log
    loads = log.matching(LOADING) if isinstance(log, KernelLog) else ()
    loaded = max((line.last_seconds for line in loads if line.last_seconds is not None), default=None)
    if loaded is not None and isinstance(one.ended_seconds, float) and one.ended_seconds < loaded:
        return warned(
            f"{unit} ran before the driver was loaded: the CDI spec may not tell of it",
            Evidence(f"ended {one.ended_seconds:.0f} s after the boot", f"systemctl show {unit}"),
            Evidence(f"driver loaded {loaded:.0f} s after the boot", log.source if isinstance(log, KernelLog) else ""),
            remedy=_restart(unit),
        )
    return passed(f"{unit} ended well", *evidence)


def _own_units(owner: str) -> Remedy | None:
    """ctk's units have no such conditions; two writers of one file would be one too many."""
    if owner != "nvidia":
        return None
    off = Command("systemctl disable --now nvidia-cdi-refresh.path nvidia-cdi-refresh.service")
    return Remedy("Let ctk keep the spec fresh in its place", (off, Command("ctk cdi refresh --install-units")))


def _restart(unit: str) -> Remedy:
    return Remedy(
        "See why it failed, then let it run again",
        (
            Command(f"journalctl --no-pager -n 20 -u {unit}"),
            Command(f"systemctl restart {unit}", restarts=(unit,)),
        ),
    )
