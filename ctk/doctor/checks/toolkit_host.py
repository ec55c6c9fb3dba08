"""What the toolkit's configuration finds on this host: mode, programs, driver root, users; it reads no file."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import has_driver_container
from ctk.doctor.checks.collector import SYSTEM_CONTAINERS
from ctk.doctor.checks.toolkit_applies import (
    config_of,
    engines_of,
    find_package,
    has_gpu,
    install_command,
    resolve_mode,
)
from ctk.doctor.model import Command, Evidence, Outcome, Remedy, failed, noted, passed, skipped, unseen, warned
from ctk.facts import Unknown
from ctk.toolkit.modes import check_mode as steps_of_mode
from ctk.toolkit.values import ALLOW_CONTAINER_LDCONFIG

if TYPE_CHECKING:
    from ctk.facts.engines import EngineInstallation
    from ctk.facts.snapshot import Snapshot
    from ctk.facts.toolkit_mode import ModeFacts
    from ctk.facts.toolkit_setup import ToolkitConfig

MODE, RUNTIMES = "nvidia-container-runtime.mode", "nvidia-container-runtime.runtimes"
LDCONFIG, ROOT, USER = "nvidia-container-cli.ldconfig", "nvidia-container-cli.root", "nvidia-container-cli.user"
NO_CGROUPS, CLI_PATH = "nvidia-container-cli.no-cgroups", "nvidia-container-cli.path"
HOOK_PATH, TOOL_PATH = "nvidia-container-runtime-hook.path", "nvidia-ctk.path"
LEGACY, JIT_CDI = "legacy", "jit-cdi"
CONTAINER_ROOT = "/run/nvidia/driver"
PATH_KEYS = {LEGACY: (HOOK_PATH, CLI_PATH), JIT_CDI: (TOOL_PATH,), "cdi": (), "csv": (TOOL_PATH,)}
DAEMONLESS = ("podman",)


def check_mode(snapshot: "Snapshot") -> Outcome:
    """What auto means here, and whether the mode finds what it works with."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    gpu = has_gpu(snapshot)
    if gpu is False:
        return skipped("there is no NVIDIA GPU for containers here")
    resolved = resolve_mode(snapshot, config)
    if isinstance(resolved, Unknown):
        return unseen(resolved)
    mode, facts = resolved
    if snapshot.system.jetson is True and mode in ("csv", LEGACY):
        return skipped("on a Jetson the mode and its files are judged by the platform's own checks")
    configured = facts.configured
    evidence = Evidence(f"mode = {configured}", config.path)
    if configured not in PATH_KEYS and configured != "auto":
        return skipped(f"{configured} is no mode")
    fault = _mode_fault(mode, facts, judges_driver=not _is_for_root(snapshot, config))
    if isinstance(fault, Unknown):
        return unseen(fault)
    if fault and isinstance(snapshot.driver, Unknown):
        return unseen(snapshot.driver)  # the driver may be in a container's root
    if fault:
        meaning = f"auto means {mode} here" if configured == "auto" else f"the mode is {mode}"
        return failed(f"{meaning}, which cannot work: {fault}", evidence, remedy=_mode_remedy(configured))
    works = passed(f"auto means {mode} here" if configured == "auto" else f"the mode {mode} can work here", evidence)
    return _judge_legacy(snapshot, evidence) or works if configured == LEGACY else works


def _judge_legacy(snapshot: "Snapshot", evidence: Evidence) -> Outcome | None:
    """A mode that was chosen, works, and does not last."""
    if _has_systemd_cgroups(snapshot):
        return warned(
            "the mode is legacy, and systemd keeps the containers' cgroups: a reload of systemd takes their GPUs away",
            evidence,
            remedy=Remedy("Let the runtime choose", (Command(f"ctk config set {MODE}=auto"),)),
        )
    return unseen(snapshot.engines) if isinstance(snapshot.engines, Unknown) else None


def _is_for_root(snapshot: "Snapshot", config: "ToolkitConfig") -> bool:
    """A driver that is looked for in the wrong place is told by the check of the driver root."""
    return config.text(ROOT) not in ("", "/") or has_driver_container(snapshot)


def _mode_fault(mode: str, facts: "ModeFacts", *, judges_driver: bool) -> str | Unknown:
    """Programs have a check of their own, and so have CDI specs: cdi.spec-present and what it needs."""
    if mode == "cdi":
        return ""
    if mode in (LEGACY, JIT_CDI):
        if facts.is_wsl is True or not judges_driver:
            return ""
        if isinstance(facts.driver_library, Unknown):
            return facts.driver_library
        return "" if facts.driver_library is not None else "libnvidia-ml.so.1 is in none of the usual folders"
    first = steps_of_mode(mode, facts)[0]
    if first.holds is None:
        return Unknown(first.answer.removeprefix("could not look: "))
    if first.holds:
        return ""
    return f"there is no mount file in {facts.mount_spec_folder}"


def _mode_remedy(configured: str) -> Remedy:
    if configured != "auto":
        return Remedy("Let the runtime choose the mode", (Command(f"ctk config set {MODE}=auto"),))
    return Remedy("Install what is missing; this says what auto looks at", (Command("ctk config mode"),))


def _has_systemd_cgroups(snapshot: "Snapshot") -> bool:
    kubelet = snapshot.kubelet
    if kubelet is not None and not isinstance(kubelet, Unknown) and kubelet.cgroup_driver == "systemd":
        return True
    for engine in engines_of(snapshot):
        daemon, files = engine.daemon, engine.files
        if daemon is not None and not isinstance(daemon, Unknown) and daemon.cgroup_driver == "systemd":
            return True
        if not isinstance(files, Unknown) and files.cgroup_driver == "systemd":
            return True
    return False


def check_low_level_runtime(snapshot: "Snapshot") -> Outcome:
    """The first that is found creates the containers."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    if isinstance(snapshot.engines, Unknown):
        return unseen(snapshot.engines)
    if not snapshot.engines:
        return skipped("no container engine is installed")
    if not config.runtimes:
        return skipped("the configuration names no low-level runtime")
    found = next((runtime for runtime in config.runtimes if isinstance(runtime.path, str)), None)
    if found is not None:
        return passed(f"{found.name} creates the containers", Evidence(found.name, str(found.path)))
    hidden = next((runtime.path for runtime in config.runtimes if isinstance(runtime.path, Unknown)), None)
    if hidden is not None:
        return unseen(hidden)
    names = ", ".join(runtime.name for runtime in config.runtimes)
    return failed(
        f"the toolkit's runtime finds none of {names}, so it can create no container",
        Evidence(f"{RUNTIMES} = {names}", config.path),
        Evidence("none is there", "the system's folders, the engines' own"),
        remedy=_runtime_remedy(snapshot, config),
    )


def _runtime_remedy(snapshot: "Snapshot", config: "ToolkitConfig") -> Remedy:
    row = config.find(RUNTIMES)
    unset = (Command(f"ctk config unset {RUNTIMES}"),) if row is not None and row.is_set else ()
    first = "Take the setting away, so that runc and crun are looked for, and install" if unset else "Install"
    return Remedy(f"{first} the low-level runtime of your engine", (*unset, _install_runc(snapshot)))


def _install_runc(snapshot: "Snapshot", *, again: bool = False) -> Command:
    """Docker's own package of containerd brings runc with it."""
    bringing = find_package(snapshot, "runc", "moby-runc", "containerd.io")
    return install_command(snapshot, bringing.name if bringing is not None else "runc", again=again)


def check_runtime_loop(snapshot: "Snapshot") -> Outcome:
    """Only the first one that is found is ever called."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    found = next((runtime for runtime in config.runtimes if runtime.path is not None), None)
    if found is None:
        return skipped("no low-level runtime was found")
    if isinstance(found.path, Unknown):
        return unseen(found.path)
    if not found.wraps:
        return passed(f"{found.name} is a low-level runtime of its own", Evidence(str(found.target), str(found.path)))
    return failed(
        f"the toolkit's runtime hands containers to {found.path}, which is {found.wraps} again: none ever starts",
        Evidence(f"{found.path} leads to {found.wraps}", str(found.target)),
        Evidence(f"{RUNTIMES} names {found.name}", config.path),
        remedy=_loop_remedy(snapshot, config, str(found.path)),
    )


def _loop_remedy(snapshot: "Snapshot", config: "ToolkitConfig", path: str) -> Remedy:
    """Another one of the list that is real, else the package's own file back in its place."""
    real = next((one.path for one in config.runtimes if isinstance(one.path, str) and not one.wraps), None)
    if real is not None:
        return Remedy("Name a real runtime by its path", (Command(f"ctk config set {RUNTIMES}={real}"),))
    return Remedy(
        f"Put the real program back in the place of {path}, or name it by its path (ctk config set {RUNTIMES}=PATH)",
        (_install_runc(snapshot, again=True),),
    )


def check_hook_path(snapshot: "Snapshot") -> Outcome:
    """The programs that the resolved mode starts."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    resolved = resolve_mode(snapshot, config)
    if isinstance(resolved, Unknown):
        return unseen(resolved)
    mode, facts = resolved
    needed = {LEGACY: ((HOOK_PATH, facts.hook), (CLI_PATH, facts.injector)), JIT_CDI: ((TOOL_PATH, facts.cdi_tool),)}
    for key, path in needed.get(mode, ()):
        if isinstance(path, Unknown):
            return unseen(path)
        if path is None:
            name = config.text(key) or "nvidia-container-cli"
            return failed(
                f"the mode {mode} needs {name} ({key}), which is not on this host",
                Evidence(f"{key} = {name}", config.path),
                Evidence("not there", name if "/" in name else "PATH, the system's folders"),
                remedy=_path_remedy(snapshot, config, key),
            )
    needless = [row for row in config.values if row.key in (HOOK_PATH, CLI_PATH, TOOL_PATH) and row.is_set]
    wrong = next((row for row in needless if row.host_fault and row.key not in PATH_KEYS.get(mode, ())), None)
    if wrong is not None:
        return noted(f"{wrong.key}: {wrong.host_fault}, which {mode} does not need", Evidence(wrong.key, config.path))
    return passed(f"the programs that the mode {mode} needs are there")


def _path_remedy(snapshot: "Snapshot", config: "ToolkitConfig", key: str) -> Remedy:
    row = config.find(key)
    if row is not None and row.is_set:
        return Remedy("Take the setting away: the default finds the program", (Command(f"ctk config unset {key}"),))
    return Remedy("Install the toolkit's packages", (install_command(snapshot, "nvidia-container-toolkit"),))


def check_ldconfig(snapshot: "Snapshot") -> Outcome:
    """The @ in front says that the host's own program is run; behind it stands a file of the host."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    row = config.find(LDCONFIG)
    value = config.text(LDCONFIG)
    if row is None or not value:
        return skipped(f"{LDCONFIG} has no value that could be used")
    evidence = Evidence(f"{LDCONFIG} = {value}", config.path)
    if not value.startswith("@"):
        if config.is_true(ALLOW_CONTAINER_LDCONFIG):
            return warned(
                f"{LDCONFIG} is {value}, without an @: containers run their own ldconfig with the host's rights",
                evidence,
            )
        return failed(
            f"{LDCONFIG} is {value}, without an @ in front: the toolkit refuses it, and containers do not start",
            evidence,
            remedy=_set_ldconfig(f"@{value}" if value.startswith("/") else "@/sbin/ldconfig"),
        )
    if not row.host_fault:
        return passed(f"{value.removeprefix('@')} is there", evidence)
    resolved = resolve_mode(snapshot, config)
    if not row.is_set and (isinstance(resolved, Unknown) or resolved[0] != LEGACY):
        return noted(row.host_fault, evidence)
    _, _, there = row.host_fault.rpartition(": ")
    better = there if there.startswith("@") else "@/sbin/ldconfig"
    return failed(
        f"{LDCONFIG}: {row.host_fault}", evidence, Evidence("not there", value[1:]), remedy=_set_ldconfig(better)
    )


def _set_ldconfig(value: str) -> Remedy:
    return Remedy("Name the host's own ldconfig", (Command(f"ctk config set {LDCONFIG}={value}"),))


def check_root(snapshot: "Snapshot") -> Outcome:
    """Where the toolkit looks for the driver, and where the driver is."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    row = config.find(ROOT)
    value = config.text(ROOT)
    evidence = Evidence(f"{ROOT} = {value or '/'}", config.path)
    driver = snapshot.driver
    if isinstance(driver, Unknown) or isinstance(driver.libraries, Unknown):
        return unseen(driver if isinstance(driver, Unknown) else Unknown("the driver's libraries were not looked at"))
    if row is not None and value not in ("", "/"):
        if not row.host_fault:
            return passed(f"the driver is below {value}", evidence)
        unset = Remedy("Look at the host's own driver", (Command(f"ctk config unset {ROOT}"),))
        return failed(
            f"{ROOT} is {value}, but {row.host_fault}",
            evidence,
            remedy=unset if driver.libraries else _start_driver_container(),
        )
    if has_driver_container(snapshot) and not driver.libraries:
        return failed(
            f"the driver is in a container's root, {CONTAINER_ROOT}, but the toolkit looks for it at /",
            evidence,
            Evidence("driver", CONTAINER_ROOT),
            remedy=Remedy("Name the driver's root", (Command(f"ctk config set {ROOT}={CONTAINER_ROOT}"),)),
        )
    return passed("the toolkit looks for the driver where it is", evidence)


def _start_driver_container() -> Remedy:
    look = "kubectl --namespace gpu-operator get pods --field-selector spec.nodeName=$(hostname)"
    return Remedy("Start the driver's container again, then the toolkit's", (Command(look, needs_root=False),))


def check_no_cgroups(snapshot: "Snapshot") -> Outcome:
    """Rootless engines may not set device rules; the others must, or containers cannot open their GPUs."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    if isinstance(snapshot.engines, Unknown):
        return unseen(snapshot.engines)
    if snapshot.system.container in SYSTEM_CONTAINERS:
        return skipped(f"inside {snapshot.system.container} the device rules are the host's")
    resolved = resolve_mode(snapshot, config)
    if isinstance(resolved, Unknown):
        return unseen(resolved)
    mode = resolved[0]
    is_on = config.is_true(NO_CGROUPS)
    evidence = Evidence(f"{NO_CGROUPS} = {str(is_on).lower()}", config.path)
    engines = [engine for engine in snapshot.engines if engine.engine not in DAEMONLESS]
    rootless = [engine for engine in engines if engine.user is not None]
    rootful = [engine for engine in engines if engine.user is None and _is_used(engine)]
    if mode != LEGACY:
        if is_on and any(engine.engine == "docker" for engine in rootful):
            return warned(
                f"{NO_CGROUPS} is true: GPUs that docker run --gpus hands out through the hook cannot be opened",
                evidence,
                remedy=_set_no_cgroups("false"),
            )
        return passed(f"the mode {mode} does not use {NO_CGROUPS}", evidence)
    if rootful and rootless:
        return noted("engines with and without root share one configuration: CDI suits both", evidence)
    if is_on and rootful:
        return failed(
            f"{NO_CGROUPS} is true, but {rootful[0].engine} runs as root: its containers may not open their GPUs",
            evidence,
            remedy=_set_no_cgroups("false"),
        )
    if rootless and not is_on:
        return failed(
            f"{NO_CGROUPS} is false, but {rootless[0].engine} is rootless and may not set device rules",
            evidence,
            remedy=_set_no_cgroups("true"),
        )
    return passed(f"{NO_CGROUPS} suits the engines here", evidence)


def _is_used(engine: "EngineInstallation") -> bool:
    """Beside a rootless Docker the system's is installed, too, and rests."""
    return engine.running is True or engine.enabled is True


def _set_no_cgroups(value: str) -> Remedy:
    return Remedy("Set it as the engine needs it", (Command(f"ctk config set {NO_CGROUPS}={value}"),))


def check_user(snapshot: "Snapshot") -> Outcome:
    """Whom nvidia-container-cli becomes, and whether that one may read the driver and open the nodes."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    row = config.find(USER)
    value = config.text(USER)
    if row is None or not value:
        return passed("nvidia-container-cli keeps the user it is started as")
    evidence = Evidence(f"{USER} = {value}", config.path)
    if not row.host_fault:
        return passed(f"{value} can read the driver and open its nodes", evidence)
    return failed(
        f"{USER}: {row.host_fault}",
        evidence,
        remedy=Remedy("Name a user and group that exist and may", (Command(f"ctk config unset {USER}"),)),
    )
