"""How the driver is set up for containers at boot: nodes, persistence, display modules; and releases known as bad."""

import re
from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import driver_gpus, driver_not_loaded, has_driver_container, loaded_version, no_gpu_here
from ctk.doctor.model import (
    APT,
    HIGH,
    LOW,
    MEDIUM,
    RED_HAT,
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
from ctk.facts.services import PERSISTENCE

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

GROUP = "Driver, kernel side"
MIG_INSTANCE = re.compile(r"gpu(\d+)/mig/gi\d+/")


def check_nvidia_modprobe(snapshot: "Snapshot") -> Outcome:
    """Not modprobe itself: the small program that makes device nodes for users who are not root."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    if has_driver_container(snapshot):
        return skipped("a driver container makes the device nodes")
    driver = snapshot.driver
    if isinstance(driver, Unknown):
        return unseen(driver)
    if not driver.libraries:
        return skipped("no driver library is installed")
    path, setuid = driver.modprobe_path, driver.modprobe_setuid
    if isinstance(path, Unknown) or isinstance(setuid, Unknown):
        return unseen(path if isinstance(path, Unknown) else Unknown("its mode could not be read"))
    return _judge_modprobe(snapshot, path, setuid)


def _judge_modprobe(snapshot: "Snapshot", path: str | None, setuid: bool) -> Outcome:
    if path is not None and setuid:
        return passed("nvidia-modprobe works for every user", Evidence("set-user-ID", path))
    made_by = _nodes_made_at_boot(snapshot)
    if isinstance(made_by, Unknown):
        return unseen(made_by)
    if made_by is not None:
        return passed("the device nodes are made at boot", made_by)
    if path is None:
        evidence = Evidence("not there", "/usr/bin/nvidia-modprobe")
        message = "nvidia-modprobe is missing, and nothing makes the device nodes at boot"
    else:
        evidence = Evidence("not set-user-ID", path)
        message = "nvidia-modprobe works for root alone, and nothing makes the device nodes at boot"
    return warned(f"{message}: rootless containers fail until root has used a GPU", evidence)


def _nodes_made_at_boot(snapshot: "Snapshot") -> Evidence | None | Unknown:
    """A udev rule of the driver's packages, or the persistence daemon."""
    driver, services = snapshot.driver, snapshot.services
    rules = driver if isinstance(driver, Unknown) else driver.udev_rules
    if isinstance(rules, tuple) and rules:
        return Evidence("udev rule", rules[0])
    service = None if isinstance(services, Unknown) else services.find(PERSISTENCE)
    if service is not None and (service.running is True or service.enabled is True):
        return Evidence("persistence daemon", service.unit or str(service.binary))
    if isinstance(rules, Unknown):
        return rules
    return services if isinstance(services, Unknown) else None


def check_persistence(snapshot: "Snapshot") -> Outcome:
    """Without it the driver tears a GPU down after the last program: each start takes seconds longer."""
    why = no_gpu_here(snapshot) or driver_not_loaded(snapshot)
    if why:
        return skipped(why)
    services = snapshot.services
    if isinstance(services, Unknown):
        return unseen(services)
    service = services.find(PERSISTENCE)
    if service is None:
        return unseen(Unknown("the daemon was not looked for"))
    if isinstance(service.running, Unknown):
        return unseen(service.running)
    if service.running is True:
        return _judge_socket(services.persistence_socket)
    unit = service.unit or "nvidia-persistenced.service"
    if service.enabled is True and not service.masked:
        evidence = Evidence("enabled and not running", unit)
        return warned("the persistence daemon is enabled but does not run: GPUs start slowly", evidence)
    return noted(
        "no persistence daemon runs: the first program on an idle GPU starts slowly", Evidence("not running", unit)
    )


def _judge_socket(path: str | None | Unknown) -> Outcome:
    """Containers get it mounted from where the toolkit looks."""
    if isinstance(path, str) and not path.startswith("/run/"):
        evidence = Evidence("not /run, and no link to it", path)
        return warned(f"the persistence daemon's socket is at {path}, where the toolkit does not look", evidence)
    if path is None:
        return passed("the persistence daemon runs; its socket was not found, so no container gets it")
    return passed("the persistence daemon runs")


def check_modeset_drm(snapshot: "Snapshot") -> Outcome:
    """Only the graphics and display capabilities need them."""
    why = no_gpu_here(snapshot) or driver_not_loaded(snapshot)
    if why:
        return skipped(why)
    modules = snapshot.modules
    if isinstance(modules, Unknown):
        return unseen(modules)
    if isinstance(modules.loaded, Unknown):
        return unseen(modules.loaded)
    missing = [name for name in ("nvidia_modeset", "nvidia_drm") if modules.find_loaded(name) is None]
    if not missing:
        return passed("nvidia_modeset and nvidia_drm are loaded")
    names = " and ".join(missing)
    evidence = Evidence(f"no {names}", "/proc/modules")
    return noted(f"{names} not loaded: needed only for the graphics and display capabilities", evidence)


def check_known_bad(snapshot: "Snapshot") -> Outcome:
    """A release is bad only together with what brings its fault out."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    version = loaded_version(snapshot)
    if isinstance(version, Unknown):
        return unseen(version)
    if version is None:
        return skipped("no driver is loaded")
    from ctk.doctor.data.known_bad_drivers import DATE, MIXED_MIG

    if version not in MIXED_MIG:
        return passed(f"{version} is not among the releases known as bad (table of {DATE})")
    evidence = Evidence(version, "/proc/driver/nvidia/version")
    split = _split_by_mig(snapshot)
    if isinstance(split, Unknown):
        return unseen(split)
    if split is None:
        return noted(f"{version} has a fault with MIG and whole GPUs on one node, which this is not", evidence)
    return failed(f"{version} fails where MIG and whole GPUs are on one node: {split.value}", evidence, split)


def _split_by_mig(snapshot: "Snapshot") -> Evidence | None | Unknown:
    """Some GPUs have MIG instances and others have none."""
    if isinstance(snapshot.driver, Unknown) or isinstance(snapshot.driver.capabilities, Unknown):
        return Unknown("the MIG instances were not looked at")
    files = snapshot.driver.capabilities or ()
    divided = {found.group(1) for file in files if (found := MIG_INSTANCE.match(file.path))}
    count = len(driver_gpus(snapshot))
    if not divided or len(divided) >= count:
        return None
    return Evidence(f"{len(divided)} of {count} GPUs are divided", "/proc/driver/nvidia/capabilities")


DRIVER_SETUP_CHECKS: tuple[Check, ...] = (
    Check(
        id="driver.modeset-drm",
        title="modeset and drm modules suit the use",
        group=GROUP,
        layer="L3",
        severity=LOW,
        evaluate=check_modeset_drm,
        reads="/proc/modules",
        rule="tells which is missing; nothing but graphics and display needs them",
        source="NVIDIA's container toolkit, DRM devices; libnvidia-container",
        needs=("driver.module-loaded",),
        explains=("EGL or Vulkan in a container finds no device",),
        remedy=Remedy("Load it where graphics are wanted", (Command("modprobe nvidia-drm"),)),
        fix="guarded",
    ),
    Check(
        id="driver.persistence-daemon",
        title="persistence daemon runs on headless hosts",
        group=GROUP,
        layer="L3",
        severity=MEDIUM,
        evaluate=check_persistence,
        reads="the persistence daemon's unit and process",
        rule="warn when it is enabled and does not run, tell it when nobody asked for it",
        source="nvidia-persistenced(1); NVIDIA/DCGM, persistence test",
        needs=("driver.module-loaded",),
        explains=("each container's start takes seconds longer", "clock settings are lost between jobs"),
        remedy=Remedy(
            "Start it now and at every boot",
            (Command("systemctl enable --now nvidia-persistenced", restarts=("nvidia-persistenced",)),),
        ),
        fix="safe",
    ),
    Check(
        id="driver.nvidia-modprobe",
        title="nvidia-modprobe is present and usable by non-root callers",
        group=GROUP,
        layer="L3",
        severity=MEDIUM,
        evaluate=check_nvidia_modprobe,
        reads="mode of nvidia-modprobe, udev rules that name NVIDIA, the persistence daemon's unit",
        rule="warn when it is missing or not set-user-ID and nothing else makes the nodes at boot",
        source="NVIDIA/nvidia-modprobe",
        needs=("driver.installed",),
        explains=("device nodes appear only after root has run nvidia-smi",),
        remedy=Remedy(
            "Reinstall it, or start the persistence daemon at boot",
            (
                Command("apt-get install --reinstall nvidia-modprobe", only_on=APT),
                Command("dnf reinstall nvidia-modprobe", only_on=(RED_HAT,)),
                Command("systemctl enable --now nvidia-persistenced", restarts=("nvidia-persistenced",)),
            ),
        ),
        fix="safe",
    ),
    Check(
        id="driver.known-bad",
        title="driver version is not on the known-bad list",
        group=GROUP,
        layer="L3",
        severity=HIGH,
        evaluate=check_known_bad,
        reads="the loaded module's version, the MIG instances below /proc/driver/nvidia/capabilities",
        rule="fail for a listed release whose precondition holds, tell a listed one without",
        source="NVIDIA/gpu-operator, troubleshooting",
        needs=("driver.installed",),
        explains=("pods that ask for MIG devices stay pending",),
        remedy=Remedy("Install another release of the branch"),
        fix="manual",
        profiles=(TRIAGE,),
    ),
)
