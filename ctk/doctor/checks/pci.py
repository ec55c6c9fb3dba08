"""The GPUs on the PCI bus: there, answering, with memory and a driver; it knows nothing of what the driver says."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import VFIO, driver_traces, elsewhere, expects_containers, gpus, is_loaded
from ctk.doctor.model import (
    CRITICAL,
    HIGH,
    INSTALL,
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
    from collections.abc import Callable

    from ctk.facts.pci import PciFunction
    from ctk.facts.snapshot import Snapshot

    GpuCheck = Callable[[Snapshot, PciFunction], Outcome]

GROUP = "PCI and hardware"
DEVICES = "/sys/bus/pci/devices"
OTHER_CHECKS_DRIVERS = frozenset({"nouveau", "nova_core", "nova_drm", "nvidiafb", "rivafb", "rivatv", "mods"})
MEMORY_FLAG = 0x200
"""IORESOURCE_MEM of include/linux/ioport.h, as `resource` prints them."""
GPU_BARS = (0, 1, 2, 3)
SYSFS = "Linux, Documentation/ABI/testing/sysfs-bus-pci"


def check_gpus_present(snapshot: "Snapshot") -> Outcome:
    """Zero GPUs is a fault only where something shows that one was expected."""
    why = elsewhere(snapshot)
    if why:
        return skipped(why)
    pci = snapshot.pci
    if isinstance(pci, Unknown):
        return unseen(pci)
    found = gpus(snapshot)
    if found:
        names = [Evidence(f"{gpu.address} device {gpu.device_id:#06x}", gpu.folder) for gpu in found[:3]]
        return passed(f"{_count(found)} on the PCI bus", *names)
    if pci is not None and pci.unreadable:
        return unseen(Unknown(f"the vendor of {pci.unreadable[0]} could not be read"))
    traces = driver_traces(snapshot)
    if not traces:
        return skipped("there is no NVIDIA GPU here, and no trace of a driver")
    return failed("no NVIDIA GPU is on the PCI bus, yet the host has a driver for one", *traces[:3])


def check_binding(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Other drivers are judged by the checks that know them."""
    return _for_each_gpu(snapshot, _check_binding)


def _check_binding(snapshot: "Snapshot", gpu: "PciFunction") -> Outcome:
    source = f"{gpu.folder}/driver"
    if isinstance(gpu.driver, Unknown):
        return unseen(gpu.driver, gpu.address)
    if gpu.driver == "nvidia":
        return passed("bound to nvidia", subject=gpu.address)
    if gpu.driver is None:
        if not is_loaded(snapshot):
            return skipped("no driver is bound, and the nvidia module is not loaded", gpu.address)
        return failed(
            f"GPU {gpu.address} is bound to no driver although the nvidia module is loaded",
            Evidence("no driver", source),
            subject=gpu.address,
            remedy=_bind_remedy(gpu),
        )
    if gpu.driver == VFIO or gpu.driver in OTHER_CHECKS_DRIVERS:
        return skipped(f"bound to {gpu.driver}: judged by another check", gpu.address)
    return failed(
        f"GPU {gpu.address} is bound to {gpu.driver}, not to nvidia",
        Evidence(gpu.driver, source),
        subject=gpu.address,
        remedy=_bind_remedy(gpu),
    )


def _bind_remedy(gpu: "PciFunction") -> Remedy:
    name = gpu.folder.rpartition("/")[2]
    return Remedy(
        "Bind the GPU to the driver; if that fails, the kernel's log says why",
        (Command(f"echo {name} | sudo tee /sys/bus/pci/drivers/nvidia/bind"), Command("dmesg | grep NVRM | tail")),
    )


def check_vfio_bound(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Handed to virtual machines on purpose, or by mistake: GPU containers on the same host decide."""
    return _for_each_gpu(snapshot, _check_vfio_bound)


def _check_vfio_bound(snapshot: "Snapshot", gpu: "PciFunction") -> Outcome:
    if isinstance(gpu.driver, Unknown):
        return unseen(gpu.driver, gpu.address)
    if gpu.driver != VFIO:
        return passed(f"not bound to {VFIO}", subject=gpu.address)
    evidence = [Evidence(VFIO, f"{gpu.folder}/driver")]
    if isinstance(gpu.driver_override, str):
        evidence.append(Evidence(gpu.driver_override, f"{gpu.folder}/driver_override"))
    others_serve = any(other.driver == "nvidia" for other in gpus(snapshot))
    if others_serve or not expects_containers(snapshot):
        return noted(f"GPU {gpu.address} is handed to virtual machines ({VFIO})", *evidence, subject=gpu.address)
    name = gpu.folder.rpartition("/")[2]
    remedy = Remedy(
        "Give the GPU back to NVIDIA's driver, if no virtual machine uses it",
        (
            Command(f"echo | sudo tee {gpu.folder}/driver_override"),
            Command(f"echo {name} | sudo tee /sys/bus/pci/drivers/{VFIO}/unbind"),
            Command(f"echo {name} | sudo tee /sys/bus/pci/drivers/nvidia/bind"),
        ),
    )
    return failed(
        f"GPU {gpu.address} is bound to {VFIO}, so no container can use it",
        *evidence,
        subject=gpu.address,
        remedy=remedy,
    )


def check_config_space(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """A device that is gone answers every read with ones; what sysfs remembers of it looks sound."""
    return _for_each_gpu(snapshot, _check_config_space)


def _check_config_space(_snapshot: "Snapshot", gpu: "PciFunction") -> Outcome:
    head = gpu.config_head
    if isinstance(head, Unknown):
        if gpu.power_state == "D3cold" or gpu.runtime_status == "suspended":
            return skipped("the GPU sleeps", gpu.address)
        return unseen(head, gpu.address)
    if head is None or len(head) < 8:
        return unseen(Unknown("no configuration space in sysfs"), gpu.address)
    if head.startswith("ffffffff"):
        return failed(
            f"GPU {gpu.address} no longer answers on the PCI bus",
            Evidence(f"first four bytes {head[:8]}", f"{gpu.folder}/config"),
            Evidence(f"power state {gpu.power_state}", f"{gpu.folder}/power_state"),
            subject=gpu.address,
        )
    return passed("configuration space answers", subject=gpu.address)


def check_bars(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Without addresses for its memory the driver cannot start a GPU."""
    return _for_each_gpu(snapshot, _check_bars)


def _check_bars(_snapshot: "Snapshot", gpu: "PciFunction") -> Outcome:
    if isinstance(gpu.regions, Unknown):
        return unseen(gpu.regions, gpu.address)
    if not gpu.regions:
        return unseen(Unknown("sysfs lists no memory regions"), gpu.address)
    memory = [region for region in gpu.regions if region.number in GPU_BARS and region.flags & MEMORY_FLAG]
    lacking = [region for region in memory if region.start == 0]
    if not lacking:
        return passed("all memory regions have addresses", subject=gpu.address)
    names = ", ".join(f"BAR{region.number} ({_size(region.size_bytes)})" for region in lacking)
    return failed(
        f"GPU {gpu.address} was given no address for {names}",
        *(Evidence(f"BAR{region.number} starts at 0", f"{gpu.folder}/resource") for region in lacking),
        subject=gpu.address,
    )


def check_nvswitch(snapshot: "Snapshot") -> Outcome:
    """Switches on the bus mean that Fabric Manager is needed."""
    pci = snapshot.pci
    if isinstance(pci, Unknown):
        return unseen(pci)
    switches = pci.switches if pci is not None else ()
    if not switches:
        return skipped("there is no NVSwitch on the PCI bus")
    return noted(
        f"{len(switches)} NVSwitch{'es' if len(switches) > 1 else ''} on the PCI bus",
        *(Evidence(f"device {switch.device_id:#06x}", switch.folder) for switch in switches[:3]),
    )


def check_link_width(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Fewer lanes than both ends can have: a bad contact, a riser, or how the slot is wired."""
    return _for_each_gpu(snapshot, _check_link_width)


def _check_link_width(snapshot: "Snapshot", gpu: "PciFunction") -> Outcome:
    now, most = gpu.current_link_width, gpu.max_link_width
    for value in (now, most):
        if isinstance(value, Unknown):
            return unseen(value, gpu.address)
    if not isinstance(now, int) or not isinstance(most, int):
        return skipped("the device has no PCI Express link of its own", gpu.address)
    port = snapshot.pci.find_port(gpu.upstream) if snapshot.pci and not isinstance(snapshot.pci, Unknown) else None
    if port is not None and isinstance(port.max_link_width, int):
        most = min(most, port.max_link_width)
    evidence = (
        Evidence(f"x{now} now", f"{gpu.folder}/current_link_width"),
        Evidence(f"x{most} possible", f"{gpu.folder}/max_link_width"),
    )
    if now >= most:
        return passed(f"x{now}", subject=gpu.address)
    message = f"GPU {gpu.address} runs on {now} of {most} PCI Express lanes"
    return (failed if now * 4 <= most else warned)(message, *evidence, subject=gpu.address)


def _for_each_gpu(snapshot: "Snapshot", check: "GpuCheck") -> Outcome | tuple[Outcome, ...]:
    """One outcome for each physical GPU, or the one reason why there is none."""
    why = elsewhere(snapshot)
    if why:
        return skipped(why)
    if isinstance(snapshot.pci, Unknown):
        return unseen(snapshot.pci)
    physical = [gpu for gpu in gpus(snapshot) if gpu.physical_function is None]
    if not physical:
        return skipped("there is no NVIDIA GPU on the PCI bus")
    return tuple(check(snapshot, gpu) for gpu in physical)


def _count(found: tuple["PciFunction", ...]) -> str:
    return "1 NVIDIA GPU is" if len(found) == 1 else f"{len(found)} NVIDIA GPUs are"


def _size(size_bytes: int) -> str:
    mebibytes = size_bytes // (1 << 20)
    return f"{mebibytes // 1024} GiB" if mebibytes >= 1024 else f"{mebibytes} MiB"


PCI_CHECKS: tuple[Check, ...] = (
    Check(
        id="pci.gpus-present",
        title="NVIDIA GPUs are on the bus",
        group=GROUP,
        layer="L2",
        severity=CRITICAL,
        evaluate=check_gpus_present,
        reads=f"vendor and class of every function below {DEVICES}",
        rule="pass with a GPU; fail without one where a driver is or was installed; else it does not apply",
        source=f"{SYSFS}; PCI class codes 0300, 0302 and 0380",
        explains=("No devices were found", "NVRM: No NVIDIA GPU found."),
        remedy=Remedy(
            "Look at the card's seat and power, or attach the GPU to the virtual machine; then search the bus again",
            (Command("echo 1 | sudo tee /sys/bus/pci/rescan"), Command("lspci -d 10de:", needs_root=False)),
        ),
        profiles=(INSTALL, TRIAGE),
        decides=True,
    ),
    Check(
        id="pci.binding",
        title="every GPU is bound to the nvidia driver",
        group=GROUP,
        layer="L2",
        severity=CRITICAL,
        evaluate=check_binding,
        reads="the driver link of each GPU in sysfs",
        rule="fail when a GPU has no driver although the module is loaded, or one that nobody knows",
        source=f"{SYSFS}; kernel-open/nvidia/nv-pci.c of NVIDIA's open modules",
        needs=("pci.gpus-present", "pci.gpu-supported", "pci.fell-off-bus", "pci.config-space", "pci.bars"),
        explains=("nvidia-smi lists fewer GPUs than lspci",),
        remedy=Remedy("Bind the GPU to NVIDIA's driver; where the driver refused it, the kernel's log says why"),
        fix="guarded",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="pci.vfio-bound",
        title="GPUs bound to vfio-pci are meant to be",
        group=GROUP,
        layer="L2",
        severity=HIGH,
        evaluate=check_vfio_bound,
        reads="the driver link and driver_override of each GPU in sysfs; the installed container runtimes",
        rule="fail when the host is set up for GPU containers and vfio-pci has every GPU; else tell it",
        source="NVIDIA/gpu-operator, the vfio-manager's states",
        needs=("pci.gpus-present",),
        explains=("No devices were found, although lspci shows the GPUs",),
        remedy=Remedy("Give the GPU back to NVIDIA's driver, if no virtual machine uses it"),
        fix="guarded",
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="pci.config-space",
        title="configuration space answers",
        group=GROUP,
        layer="L2",
        severity=CRITICAL,
        evaluate=check_config_space,
        reads="the first bytes of each GPU's config file in sysfs, unless the GPU sleeps",
        rule="fail when vendor and device read as ones only",
        source=f"{SYSFS}; the PCI specification: an unanswered read gives ones",
        needs=("pci.gpus-present", "pci.fell-off-bus"),
        explains=("Unable to determine the device handle for GPU: Unknown Error", "lspci shows (rev ff)"),
        remedy=Remedy(
            "Drain the node and switch its power off and on; if it comes back, look at seat, riser and power cables",
            (Command("systemctl poweroff", stops_containers=True, reboots=True),),
        ),
        fix="disruptive",
    ),
    Check(
        id="pci.bars",
        title="memory BARs are assigned",
        group=GROUP,
        layer="L2",
        severity=CRITICAL,
        evaluate=check_bars,
        reads="the resource file of each GPU in sysfs",
        rule="fail when one of the GPU's memory regions starts at address zero",
        source=f"{SYSFS}; kernel-open/nvidia/nv-pci.c of NVIDIA's open modules",
        needs=("pci.gpus-present", "vm.passthrough"),
        explains=("RmInitAdapter failed!", "This PCI I/O region assigned to your NVIDIA device is invalid"),
        remedy=Remedy(
            "Switch on Above 4G decoding in the firmware, or give the virtual machine a larger window for device "
            "memory; the kernel option pci=realloc may help where the firmware cannot",
            (Command('dmesg | grep -iE "can\'t assign|no space for|BAR"'),),
        ),
        fix="manual",
    ),
    Check(
        id="pci.link-width",
        title="PCIe link width is the maximum both ends support",
        group=GROUP,
        layer="L2",
        severity="medium",
        evaluate=check_link_width,
        reads="current_link_width and max_link_width of each GPU and of the port above it",
        rule="warn below what both ends can do, fail at a quarter of it or less",
        source=SYSFS,
        needs=("pci.gpus-present",),
        explains=("copies between host and GPU are slow",),
        remedy=Remedy("Seat the card anew, change the riser, and look at the slot's bifurcation in the firmware"),
        fix="manual",
    ),
    Check(
        id="pci.nvswitch",
        title="NVSwitches are recognised",
        group=GROUP,
        layer="L2",
        severity="info",
        evaluate=check_nvswitch,
        reads=f"vendor and class of every function below {DEVICES}",
        rule="tells how many; Fabric Manager is needed where there are any",
        source="leptonai/gpud, NVSwitch device classes",
    ),
)
