"""GPUs that the kernel's log or the table of generations speaks against; what sysfs shows is judged elsewhere."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import driver_gpus, elsewhere, gpus, no_gpu_here
from ctk.doctor.checks.log_lines import find_log, none_seen, quote, quote_event, with_addresses
from ctk.doctor.model import (
    CRITICAL,
    DEBIAN,
    RED_HAT,
    UBUNTU,
    Check,
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    passed,
    skipped,
    unseen,
)
from ctk.facts import Unknown
from ctk.facts.driver import OPEN, PROPRIETARY

if TYPE_CHECKING:
    from ctk.facts.kernel_log import KernelLog
    from ctk.facts.pci import PciFunction
    from ctk.facts.snapshot import Snapshot

GROUP = "PCI and hardware"
FALLEN_OFF_BUS, NO_POWER = 79, 54
POWER_CABLES = "does not have the necessary power cables connected"
REFUSED = "installed in this system is not supported by"
"""The driver's sentence goes on in the next record, with its flavour or its release."""
VERSION_FILE = "/proc/driver/nvidia/version"


def check_fell_off_bus(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """With an Xid's number or without: older drivers print only the sentence, in two or three records."""
    return _from_log(snapshot, FALLEN_OFF_BUS, "fallen off the bus", "has fallen off the bus: hardware or power")


def check_power_cable(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """The driver refuses to start a board whose auxiliary power is missing."""
    return _from_log(snapshot, NO_POWER, POWER_CABLES, "lacks external power")


def _from_log(snapshot: "Snapshot", code: int, words: str, verdict: str) -> Outcome | tuple[Outcome, ...]:
    why = elsewhere(snapshot)
    if why:
        return skipped(why)
    if not isinstance(snapshot.pci, Unknown) and not gpus(snapshot) and isinstance(snapshot.kernel_log, Unknown):
        return skipped("there is no NVIDIA GPU on the PCI bus")
    log = find_log(snapshot)
    if isinstance(log, Unknown):
        return unseen(log)
    evidence = _evidence_by_gpu(log, code, words)
    if not evidence:
        return passed(none_seen(log, "no GPU " + verdict.partition(":")[0]))
    return tuple(
        failed(
            f"{'GPU ' + address if address else 'a GPU'} {verdict}{_again(log, address, code)}",
            *found[:3],
            subject=address,
        )
        for address, found in evidence.items()
    )


def _again(log: "KernelLog", address: str, code: int) -> str:
    boots = log.earlier_boots(address, code)
    return f"; it was so in {boots} earlier boots too, so a restart will not mend it" if boots > 1 else ""


def _evidence_by_gpu(log: "KernelLog", code: int, words: str) -> dict[str, list[Evidence]]:
    found: dict[str, list[Evidence]] = {}
    for event in log.events_of(code):
        found.setdefault(event.address, []).append(quote_event(event, log))
    for address, line in with_addresses(log.lines):
        if words in line.text:
            found.setdefault(address, []).append(quote(line, log))
    return found


def check_gpu_supported(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """The driver's own word in the log comes first, then the generation by the device's id."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    if isinstance(snapshot.pci, Unknown):
        return unseen(snapshot.pci)
    flavour = _flavour(snapshot)
    refused = _refused_in_log(snapshot)
    return tuple(_judge_gpu(gpu, flavour, refused) for gpu in driver_gpus(snapshot))


def _flavour(snapshot: "Snapshot") -> str | None | Unknown:
    """Of the running driver, else of the module on disk by its licence."""
    driver, modules = snapshot.driver, snapshot.modules
    running = driver if isinstance(driver, Unknown) else driver.flavour
    if isinstance(running, str) or isinstance(modules, Unknown):
        return running
    file = modules.find_file("nvidia")
    if file is None or not isinstance(file.license, str):
        return running
    return PROPRIETARY if file.license == "NVIDIA" else OPEN


def _refused_in_log(snapshot: "Snapshot") -> dict[str, Evidence]:
    log = snapshot.kernel_log
    if log is None or isinstance(log, Unknown):
        return {}
    lines = with_addresses(log.lines)
    return {address: quote(line, log) for address, line in lines if address and REFUSED in line.text}


def _judge_gpu(gpu: "PciFunction", flavour: str | None | Unknown, refused: dict[str, Evidence]) -> Outcome:
    from ctk.doctor.data.pci_families import needs_open_modules, needs_proprietary_modules

    device = Evidence(f"device {gpu.device_id:#06x}", f"{gpu.folder}/device")
    kind = Evidence(f"{flavour} kernel modules", VERSION_FILE)
    said = refused.get(gpu.address)
    if flavour == OPEN and needs_proprietary_modules(gpu.device_id):
        message = f"GPU {gpu.address} ({gpu.device_id:#06x}) needs the proprietary module; the open one is installed"
        evidence = (device, kind, *((said,) if said else ()))
        return failed(message, *evidence, subject=gpu.address, remedy=_PROPRIETARY_REMEDY)
    if flavour == PROPRIETARY and needs_open_modules(gpu.device_id):
        message = f"GPU {gpu.address} ({gpu.device_id:#06x}) needs the open module; the proprietary one is installed"
        return failed(message, device, kind, subject=gpu.address, remedy=_OPEN_REMEDY)
    if said is not None and gpu.driver != "nvidia":
        return failed(f"this driver does not support GPU {gpu.address}", device, said, subject=gpu.address)
    if isinstance(flavour, Unknown):
        return unseen(flavour, gpu.address)
    if flavour is None:
        return skipped("no driver is installed", gpu.address)
    return passed(f"the {flavour} modules support it", subject=gpu.address)


_PROPRIETARY_REMEDY = Remedy(
    "Install the proprietary flavour of a branch that still knows the GPU (580 is the last for Maxwell to Volta)",
    (
        Command("apt-get install nvidia-driver-580", only_on=(UBUNTU,)),
        Command("apt-get install nvidia-kernel-dkms", only_on=(DEBIAN,)),
        Command("dnf module install nvidia-driver:580-dkms", only_on=(RED_HAT,)),
        Command("systemctl reboot", stops_containers=True, reboots=True),
    ),
)
_OPEN_REMEDY = Remedy(
    "Install the open flavour of the same branch",
    (
        Command("apt-get install nvidia-driver-<BRANCH>-open", only_on=(UBUNTU,)),
        Command("apt-get install nvidia-open-kernel-dkms", only_on=(DEBIAN,)),
        Command("dnf install kmod-nvidia-open-dkms", only_on=(RED_HAT,)),
        Command("systemctl reboot", stops_containers=True, reboots=True),
    ),
)

PCI_FAULT_CHECKS: tuple[Check, ...] = (
    Check(
        id="pci.fell-off-bus",
        title="no GPU has fallen off the bus",
        group=GROUP,
        layer="L2",
        severity=CRITICAL,
        evaluate=check_fell_off_bus,
        reads="Xid 79 and the sentence about the bus in the kernel log of this boot",
        rule="fail for each GPU that either names",
        source="NVIDIA's Xid catalogue, 79; kernel-open/nvidia/nv-pci.c of NVIDIA's open modules",
        needs=("collect.kernel-log",),
        explains=("Unable to determine the device handle for GPU: Unknown Error", "driver rpc error: timed out"),
        remedy=Remedy(
            "Drain the node and switch its power off and on, a warm reboot may not be enough; if it comes back, look "
            "at seat, riser, power cables and temperature, then have the card replaced",
            (Command("systemctl poweroff", stops_containers=True, reboots=True),),
        ),
        fix="disruptive",
    ),
    Check(
        id="pci.gpu-supported",
        title="the GPU model is supported by the installed module flavour and branch",
        group=GROUP,
        layer="L2",
        severity=CRITICAL,
        evaluate=check_gpu_supported,
        reads="each GPU's device id, the flavour of the kernel modules, what the driver logged about the GPU",
        rule="fail for a GPU older than Turing with open modules, for Blackwell or Grace Hopper with proprietary "
        "ones, and for one that the driver refused",
        source="README of NVIDIA/open-gpu-kernel-modules, table of GPUs; NVIDIA's announcement of July 2024",
        needs=("pci.gpus-present",),
        explains=("No devices were found", "The NVIDIA probe routine failed for 1 device(s)."),
        remedy=Remedy("Install a driver branch whose list of supported GPUs has this one"),
        fix="manual",
    ),
    Check(
        id="pci.power-cable",
        title="external power is connected",
        group=GROUP,
        layer="L2",
        severity=CRITICAL,
        evaluate=check_power_cable,
        reads="Xid 54 and the sentence about power cables in the kernel log of this boot",
        rule="fail for each GPU that either names",
        source="NVIDIA's Xid catalogue, 54; src/nvidia/arch/nvalloc/unix/src/osinit.c of NVIDIA's open modules",
        needs=("collect.kernel-log",),
        explains=("No devices were found", "RmInitAdapter failed! (0x24:0x1c"),
        remedy=Remedy("Switch the machine off and connect the card's power cables; check the supply's rail"),
        fix="manual",
    ),
)
