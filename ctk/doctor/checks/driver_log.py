"""What the driver wrote into the kernel's log when it could not start: as a whole, or one GPU of it."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import elsewhere, gpus, no_gpu_here, recovery_asked
from ctk.doctor.checks.log_lines import find_log, none_seen, quote, quote_event, with_addresses
from ctk.doctor.model import (
    CRITICAL,
    MEDIUM,
    Check,
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    passed,
    skipped,
    unseen,
    warned,
)
from ctk.facts import Unknown

if TYPE_CHECKING:
    from ctk.facts.kernel_log import KernelLog, LogLine
    from ctk.facts.snapshot import Snapshot

GROUP = "Driver, kernel side"
STARTED = "NVRM: loading NVIDIA UNIX"
"""The driver's first line each time its module is loaded; what failed before the last of them is over."""

LOAD_ERRORS = (
    ("NVRM: No NVIDIA GPU found", "the driver found no GPU"),
    ("probe routine was not called for", "another driver has the GPU"),
    ("probe routine failed for", "the driver could not take the GPU"),
    ("None of the NVIDIA devices were initialized", "no GPU could be started"),
    ("NVRM: request_mem_region failed", "the GPU's memory is claimed by something else"),
    ("Can't find an IRQ for your NVIDIA card", "the firmware gave the GPU no interrupt"),
    ("Unknown symbol", "the module was built for another kernel or another of its siblings"),
    ("version magic", "the module was built for another kernel"),
    ("disagrees about version of symbol", "the module was built for another kernel or another of its siblings"),
    ("Failed to enable MSI-X", "the GPU's interrupts could not be switched on"),
)
"""kernel-open/nvidia/nv.c and nv-pci.c of NVIDIA's open modules, and the kernel's module loader."""
OURS = ("NVRM", "nvidia")
INIT_FAILURES = ("RmInitAdapter failed", "rm_init_adapter failed", "Cannot initialize GSP firmware", "WPR2 already up")
GSP_TIMEOUT, GSP_ERROR = 119, 120


def check_load_errors(snapshot: "Snapshot") -> Outcome:
    """Only what came after the driver's last start counts."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    log = find_log(snapshot)
    if isinstance(log, Unknown):
        return unseen(log)
    lines = [(line, meaning) for line in _since_last_start(log) if (meaning := _meaning(line.text))]
    if not lines:
        return passed(none_seen(log, "the driver logged no error while it was loaded"))
    message = f"the driver's module did not start: {lines[0][1]}"
    return failed(message, *(quote(line, log) for line, _ in lines[:3]))


def _since_last_start(log: "KernelLog") -> "list[LogLine]":
    starts = [line.last_seconds for line in log.lines if STARTED in line.text and line.last_seconds is not None]
    last = max(starts, default=None)
    if last is None:
        return list(log.lines)
    return [line for line in log.lines if line.last_seconds is None or line.last_seconds >= last]


def _meaning(text: str) -> str:
    if not text.startswith(OURS):
        return ""
    return next((meaning for words, meaning in LOAD_ERRORS if words in text), "")


def check_rm_init_failed(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """One GPU of several: the others work on."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    log = find_log(snapshot)
    if isinstance(log, Unknown):
        return unseen(log)
    evidence: dict[str, list[Evidence]] = {}
    for address, line in with_addresses(_since_last_start(log)):
        if any(words in line.text for words in INIT_FAILURES):
            evidence.setdefault(address, []).append(quote(line, log))
    if not evidence:
        return passed(none_seen(log, "every GPU that the driver started did start"))
    return tuple(_init_failure(address, found) for address, found in evidence.items())


def _init_failure(address: str, found: list[Evidence]) -> Outcome:
    name = f"GPU {address}" if address else "a GPU"
    stuck = any("WPR2 already up" in item.value for item in found)
    cause = ": it needs a reset or a power cycle" if stuck else ""
    message = f"the driver could not start {name}{cause}"
    return failed(message, *found[:3], subject=address, remedy=_POWER_CYCLE if stuck else None)


def check_gsp_state(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """The GPU's own processor does not answer the driver any more."""
    why = elsewhere(snapshot) or (
        "" if gpus(snapshot) or isinstance(snapshot.pci, Unknown) else "there is no NVIDIA GPU"
    )
    if why:
        return skipped(why)
    log = find_log(snapshot)
    if isinstance(log, Unknown):
        return unseen(log)
    events = log.events_of(GSP_TIMEOUT, GSP_ERROR)
    if not events:
        return passed(none_seen(log, "no GPU's system processor stopped answering"))
    by_gpu = {event.address: event for event in events}
    return tuple(_judge_gsp(snapshot, quote_event(event, log), address) for address, event in by_gpu.items())


def _judge_gsp(snapshot: "Snapshot", evidence: Evidence, address: str) -> Outcome:
    """A reset may have mended it since."""
    if recovery_asked(snapshot, address) == 0:
        return warned(
            f"the system processor of GPU {address} did not answer; it does now",
            evidence,
            subject=address,
            remedy=Remedy("Nothing now; if it comes back, update the driver"),
        )
    return failed(f"the system processor of GPU {address} does not answer the driver", evidence, subject=address)


_RESET = (
    Command("nvidia-smi --gpu-reset -i <GPU>", stops_containers=True),
    Command("systemctl reboot", stops_containers=True, reboots=True),
)

_POWER_CYCLE = Remedy(
    "Drain the node and reset the GPU; where that fails, switch the machine's power off and on, a reboot is not enough",
    (_RESET[0], Command("systemctl poweroff", stops_containers=True, reboots=True)),
)

DRIVER_LOG_CHECKS: tuple[Check, ...] = (
    Check(
        id="driver.load-errors",
        title="module initialisation did not log an error",
        group=GROUP,
        layer="L3",
        severity=CRITICAL,
        evaluate=check_load_errors,
        reads="the driver's and the module loader's lines in the kernel log since the driver was last loaded",
        rule="fail for any of the known errors",
        source="kernel-open/nvidia/nv.c and nv-pci.c of NVIDIA's open modules",
        needs=(
            "collect.kernel-log",
            "pci.gpus-present",
            "host.nouveau-loaded",
            "host.competing-drivers",
            "pci.vfio-bound",
            "host.module-vermagic",
            "pci.gpu-supported",
            "pci.bars",
        ),
        explains=("No devices were found", "modprobe: ERROR: could not insert 'nvidia': No such device"),
        remedy=Remedy(
            "Take what the line names out of the way: another driver, a module of another build, the firmware's "
            "settings for interrupts and memory above 4 GiB",
            (Command("dmesg | grep -E 'NVRM|nvidia' | tail -30"), Command("lspci -nnk -d 10de:", needs_root=False)),
        ),
        fix="manual",
    ),
    Check(
        id="driver.rm-init-failed",
        title="adapter initialisation succeeds for each GPU",
        group=GROUP,
        layer="L3",
        severity=CRITICAL,
        evaluate=check_rm_init_failed,
        reads="the lines about RmInitAdapter and the GPU's firmware in the kernel log since the driver was last loaded",
        rule="fail for each GPU they name",
        source="src/nvidia/arch/nvalloc/unix/src/osinit.c of NVIDIA's open modules",
        needs=(
            "driver.module-loaded",
            "collect.kernel-log",
            "pci.fell-off-bus",
            "pci.bars",
            "vgpu.guest-driver",
            "driver.gsp-firmware-files",
            "pci.gpu-supported",
            "pci.power-cable",
        ),
        explains=("Unable to determine the device handle for GPU", "the GPU is missing in nvidia-smi -L"),
        remedy=Remedy("Drain the node; reset the GPU, or switch the machine's power off and on", _RESET),
        fix="disruptive",
    ),
    Check(
        id="driver.gsp-state",
        title="GSP is active where required and not failing",
        group=GROUP,
        layer="L3",
        severity=MEDIUM,
        evaluate=check_gsp_state,
        reads="Xid 119 and 120 in the kernel log of this boot",
        rule="fail for each GPU they name",
        source="NVIDIA's Xid catalogue, 119 and 120",
        needs=("driver.module-loaded", "pci.fell-off-bus"),
        explains=("nvidia-smi hangs for a minute, then shows ERR!",),
        remedy=Remedy("Drain the node and reset the GPU; if it comes back, update the driver", _RESET),
        fix="disruptive",
    ),
)
