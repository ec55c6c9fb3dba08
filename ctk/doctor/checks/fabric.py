"""Whether this host needs a fabric manager, and whether it is there, runs and fits the driver; judges no links."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import VFIO, core_module, elsewhere, loaded_version
from ctk.doctor.model import (
    APT,
    RED_HAT,
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
from ctk.facts.nvml import Nvml
from ctk.facts.services import FABRIC_MANAGER, SUBNET_MANAGER, Service, Services

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

UNIT = "nvidia-fabricmanager"
BINARY = "/usr/bin/nv-fabricmanager"
RESTARTS, WINDOW_SECONDS = 3, 600
HARMLESS = "NV_WARN_NOTHING_TO_DO"
FATAL = ("don't match with any supported system topology", "detected NVSwitch fatal error", "fatal error occurred")


def need_of(snapshot: "Snapshot") -> str | Unknown:
    """Why a fabric manager has to run here; "" where none has to."""
    if elsewhere(snapshot):
        return ""
    if isinstance(snapshot.pci, Unknown):
        return snapshot.pci
    # Switches that a virtual machine has are managed inside it.
    switches = [one for one in snapshot.pci.switches if one.driver != VFIO] if snapshot.pci is not None else []
    if switches:
        return f"{len(switches)} NVSwitches on the PCI bus, the first at {switches[0].address}"
    from ctk.doctor.data.nvlink import BOARD_GPUS

    boards = count_nvlink5(snapshot)
    return f"{boards} GPUs of an NVLink 5 board" if boards >= BOARD_GPUS else ""


def count_nvlink5(snapshot: "Snapshot") -> int:
    """GPUs of HGX boards of the fifth NVLink generation, by name: their switches are not on the bus."""
    from ctk.doctor.data.nvlink import NVLINK5_BOARDS, is_product

    nvml = snapshot.nvml
    listed = nvml.gpus if isinstance(nvml, Nvml) and isinstance(nvml.gpus, tuple) else ()
    return sum(isinstance(gpu.name, str) and is_product(gpu.name, NVLINK5_BOARDS) for gpu in listed)


def find_manager(snapshot: "Snapshot") -> Service | Unknown:
    """The fabric manager's record, whether it is installed or not."""
    services = snapshot.services
    if isinstance(services, Unknown):
        return services
    return services.find(FABRIC_MANAGER) or Unknown("the snapshot does not hold the fabric manager")


def check_required(snapshot: "Snapshot") -> Outcome:
    """The precondition of the checks below."""
    need = need_of(snapshot)
    if isinstance(need, Unknown):
        return unseen(need)
    if need:
        return noted("this host needs a fabric manager", Evidence(need, "/sys/bus/pci/devices"))
    return skipped(elsewhere(snapshot) or "no NVSwitch here: no fabric manager is needed")


def _applies(snapshot: "Snapshot") -> Outcome | None:
    """What to say where there is nothing to judge."""
    need = need_of(snapshot)
    if isinstance(need, Unknown):
        return unseen(need)
    return None if need else skipped("no fabric manager is needed here")


def check_installed(snapshot: "Snapshot") -> Outcome:
    """In a driver container it is enough that it runs."""
    nothing = _applies(snapshot)
    manager = find_manager(snapshot)
    if nothing is not None or isinstance(manager, Unknown):
        return nothing or unseen(manager if isinstance(manager, Unknown) else Unknown("not looked for"))
    if manager.running is True:
        return passed("the fabric manager runs")
    if isinstance(manager.binary, Unknown):
        return unseen(manager.binary)
    if manager.binary is not None:
        return passed("the fabric manager is installed", Evidence("installed", manager.binary))
    return failed(
        "this host has NVSwitches, but no fabric manager: CUDA answers error 802",
        Evidence("no such file", BINARY),
        Evidence(str(need_of(snapshot)), "/sys/bus/pci/devices"),
        remedy=_install_remedy(snapshot),
    )


def _install_remedy(snapshot: "Snapshot") -> Remedy:
    version = loaded_version(snapshot)
    if not isinstance(version, str):
        return Remedy("Install the fabric manager of exactly the driver's version")
    branch = version.partition(".")[0]
    return Remedy(
        f"Install the fabric manager of exactly the driver's version, {version}, and start it",
        (
            Command(f"apt-get install 'nvidia-fabricmanager-{branch}={version}*'", only_on=APT),
            Command(f"dnf install nvidia-fabricmanager-{version}", only_on=(RED_HAT,)),
            Command(f"systemctl enable --now {UNIT}", restarts=(UNIT,)),
        ),
    )


def check_version(snapshot: "Snapshot") -> Outcome:
    """NVIDIA builds both together; any difference stops the daemon."""
    nothing = _applies(snapshot)
    manager = find_manager(snapshot)
    if nothing is not None or isinstance(manager, Unknown):
        return nothing or unseen(manager if isinstance(manager, Unknown) else Unknown("not looked for"))
    if core_module(snapshot) is None:
        return skipped("the nvidia module is not loaded")
    driver = loaded_version(snapshot)
    for value in (manager.version, driver):
        if isinstance(value, Unknown):
            return unseen(value)
    if not isinstance(manager.version, str) or not isinstance(driver, str):
        return skipped("the fabric manager is not installed on the host itself")
    if manager.version == driver:
        return passed(f"fabric manager and driver are both {driver}")
    return failed(
        f"the fabric manager has version {manager.version}, the driver {driver}: it does not start like this",
        Evidence(manager.version, f"{manager.binary} --version"),
        Evidence(driver, "/sys/module/nvidia/version"),
        remedy=_install_remedy(snapshot),
    )


def check_running(snapshot: "Snapshot") -> Outcome:
    """Where it is not needed, its unit ends by itself and means no harm."""
    need = need_of(snapshot)
    manager = find_manager(snapshot)
    if isinstance(need, Unknown):
        return unseen(need)
    if isinstance(manager, Unknown):
        return unseen(manager) if need else skipped("no fabric manager is needed here")
    if not need:
        return _judge_needless(manager)
    if isinstance(manager.running, Unknown):
        return unseen(manager.running)
    if manager.running:
        where = " in a container" if manager.in_container else ""
        return passed(f"the fabric manager runs{where}", Evidence(f"process {manager.pid}", "/proc"))
    state = "masked" if manager.masked else "enabled" if manager.enabled is True else "not enabled"
    result = f", last result: {manager.result}" if isinstance(manager.result, str) else ""
    return failed(
        "the fabric manager does not run, which NVSwitches need: CUDA answers error 802",
        Evidence("no process nv-fabricmanager", "/proc"),
        Evidence(f"unit {manager.unit or 'not installed'}, {state}{result}", "systemd units"),
    )


def _judge_needless(manager: Service) -> Outcome:
    if manager.unit is None:
        return skipped("no fabric manager is needed here")
    message = "the fabric manager is installed but not needed here: without NVSwitch its unit ends with nothing to do"
    return noted(message, Evidence(f"result {manager.result}", manager.unit))


def check_flapping(snapshot: "Snapshot") -> Outcome:
    """systemd counts since the unit was first started: only many counts and a young process mean trouble now."""
    nothing = _applies(snapshot)
    manager = find_manager(snapshot)
    if nothing is not None or isinstance(manager, Unknown):
        return nothing or unseen(manager if isinstance(manager, Unknown) else Unknown("not looked for"))
    if isinstance(manager.restarts, Unknown):
        return unseen(manager.restarts)
    if manager.restarts is None or manager.running is not True:
        return skipped("systemd does not run the fabric manager")
    age = seconds_between(manager.running_since, snapshot.taken_at)
    if manager.restarts >= RESTARTS and age is not None and age < WINDOW_SECONDS:
        return warned(
            f"systemd has restarted the fabric manager {manager.restarts} times; it runs for {age} s now",
            Evidence(f"NRestarts={manager.restarts}", f"systemctl show {UNIT}"),
        )
    return passed("the fabric manager is not restarted again and again")


def seconds_between(start: object, end: str) -> int | None:
    """Whole seconds between two times in RFC 3339; None where one is none."""
    from datetime import datetime

    if not isinstance(start, str):
        return None
    try:
        return int((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
    except (ValueError, TypeError):
        return None


def check_log(snapshot: "Snapshot") -> Outcome:
    """Only lines since the daemon was started: older trouble was mended, or shows elsewhere."""
    nothing = _applies(snapshot)
    services = snapshot.services
    if nothing is not None or isinstance(services, Unknown):
        return nothing or unseen(services if isinstance(services, Unknown) else Unknown("not looked for"))
    if services.fabric_log is None:
        return skipped("the fabric manager has no log file")
    if isinstance(services.fabric_log, Unknown):
        return unseen(services.fabric_log)
    lines = [line for line in _recent(services) if HARMLESS not in line]
    evidence = tuple(Evidence(line, services.fabric_log_path or "") for line in lines[-3:])
    fatal = [line for line in lines if any(words in line for words in FATAL)]
    if fatal:
        return failed("the fabric manager has logged a fatal error since it was started", *evidence)
    if lines:
        return warned("the fabric manager has logged errors of an NVSwitch since it was started", *evidence)
    return passed("the fabric manager's log has no error since it was started")


def _recent(services: Services) -> list[str]:
    manager = services.find(FABRIC_MANAGER)
    since = manager.running_since if manager is not None and isinstance(manager.running_since, str) else ""
    lines = services.fabric_log if isinstance(services.fabric_log, tuple) else ()
    return [line.text for line in lines if line.at is None or line.at >= since]


def check_nvlink5(snapshot: "Snapshot") -> Outcome:
    """Their switches are managed over InfiniBand by a subnet manager of NVIDIA's."""
    nothing = _applies(snapshot)
    if nothing is not None:
        return nothing
    if not count_nvlink5(snapshot):
        return skipped("the NVSwitches are of an earlier generation")
    modules, services = snapshot.modules, snapshot.services
    if isinstance(modules, Unknown) or isinstance(modules.loaded, Unknown):
        return unseen(modules if isinstance(modules, Unknown) else Unknown("the loaded modules are not known"))
    if isinstance(services, Unknown):
        return unseen(services)
    manager, fabric = services.find(SUBNET_MANAGER), services.find(FABRIC_MANAGER)
    if fabric is not None and fabric.in_container:
        return passed("the driver container brings the fabric manager and its parts")
    lacks = [] if modules.find_loaded("ib_umad") else [Evidence("module ib_umad is not loaded", "/proc/modules")]
    if manager is None or manager.binary is None:
        lacks.append(Evidence("nvlsm is not installed", "/opt/nvidia/nvlsm/sbin"))
    if lacks:
        return failed("the fabric manager of an NVLink 5 board lacks what it starts with", *lacks)
    return passed("the module ib_umad and the subnet manager are there")
