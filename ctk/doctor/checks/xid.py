"""What the kernel's log of this boot says of GPU faults (Xid), class by class; NVSwitch errors are judged elsewhere."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import find_nvml_gpu, recovery_asked
from ctk.doctor.checks.log_lines import find_log, none_seen, quote_event
from ctk.doctor.data.xid import APPLICATION, DATE, DRIVER, HARDWARE, MEMORY_CODES, RECOVERY_ACTIONS, SOURCE, WATCH, XIDS
from ctk.doctor.model import (
    CRITICAL,
    HIGH,
    LOW,
    MEDIUM,
    NOTE,
    Check,
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    noted,
    passed,
    unseen,
    warned,
)
from ctk.facts import Unknown
from ctk.formats.xid import FATAL, NVLINK_CODES, parse_recovery_action

if TYPE_CHECKING:
    from ctk.facts.kernel_log import KernelLog, LogEvent
    from ctk.facts.snapshot import Snapshot

GROUP = "Kernel log events: Xid and SXid"
MANY_PER_MINUTE, STORM_PER_MINUTE = 10, 100
RECOVERY_CODE = 154
GSP_CODES = (119, 120)
GONE = (79, 167)
"""The GPU does not answer on the bus: nothing that is sent to it can reset it."""
Answer = Outcome | tuple[Outcome, ...]


def class_of(event: "LogEvent") -> str:
    """The class of an Xid; NVLink's newer codes weigh only where the line calls them fatal; "" for an unknown code."""
    if event.code in NVLINK_CODES:
        return HARDWARE if event.weight == FATAL else WATCH
    return XIDS[event.code][0] if event.code in XIDS else ""


def meaning_of(code: int) -> str:
    """What a code stands for."""
    return XIDS[code][1] if code in XIDS else "a code that ctk does not know"


def _xids(log: "KernelLog") -> tuple["LogEvent", ...]:
    return tuple(event for event in log.events if not event.is_switch)


def check_summary(snapshot: "Snapshot") -> Outcome:
    """Never a fault by itself."""
    log = find_log(snapshot)
    if isinstance(log, Unknown):
        return unseen(log)
    events = _xids(log)
    if not events:
        return passed(none_seen(log, "no Xid was logged"))
    total = sum(event.times for event in events)
    devices = len({event.address for event in events})
    message = f"{total} Xid {'message' if total == 1 else 'messages'} of {_count(devices, 'GPU')}"
    return noted(message, *(quote_event(event, log) for event in events[:3]))


def check_application(snapshot: "Snapshot") -> Answer:
    """A program's fault, unless the same one follows one GPU through several programs and spares the others."""
    return _by_gpu(snapshot, (APPLICATION,), "no fault of a program was logged", _judge_application)


def _judge_application(snapshot: "Snapshot", log: "KernelLog", events: list["LogEvent"]) -> Outcome:
    address = events[0].address
    evidence = [quote_event(event, log) for event in events[:3]]
    for event in events:
        elsewhere = any(other.code == event.code and other.address != address for other in _xids(log))
        if len(event.processes) > 1 and not elsewhere and _gpu_count(snapshot) > 1:
            names = ", ".join(event.processes[:3])
            return warned(
                f"Xid {event.code} ({meaning_of(event.code)}) hit several programs on GPU {address} and on no other: "
                f"{names}",
                *evidence,
                subject=address,
                remedy=SUSPECT_REMEDY,
            )
    return noted(f"programs on GPU {address} ran into {_codes(events)}", *evidence, subject=address)


def _gpu_count(snapshot: "Snapshot") -> int:
    pci = snapshot.pci
    return 0 if pci is None or isinstance(pci, Unknown) else len(pci.gpus)


def check_driver(snapshot: "Snapshot") -> Answer:
    """Driver or firmware gave up on a GPU."""
    return _by_gpu(snapshot, (DRIVER,), "no fault of driver or firmware was logged", _judge_driver)


def _judge_driver(snapshot: "Snapshot", log: "KernelLog", events: list["LogEvent"]) -> Outcome:
    """driver.gsp-state judges the GPU's own processor, so that one fault is told once."""
    grave = [event for event in events if event.code not in GSP_CODES]
    return _judge_grave(snapshot, log, grave) if grave else _judge_recorded(log, events)


def check_hardware(snapshot: "Snapshot") -> Answer:
    """The GPU, its memory or its links; what was only recorded is noted."""
    return _by_gpu(snapshot, (HARDWARE, WATCH), "no hardware fault was logged", _judge_hardware)


def _judge_hardware(snapshot: "Snapshot", log: "KernelLog", events: list["LogEvent"]) -> Outcome:
    grave = [event for event in events if class_of(event) == HARDWARE and not _is_judged_by_nvml(snapshot, event)]
    if grave:
        return _judge_grave(snapshot, log, grave)
    return _judge_recorded(log, events)


def _judge_recorded(log: "KernelLog", events: list["LogEvent"]) -> Outcome:
    address = events[0].address
    evidence = [quote_event(event, log) for event in events[:3]]
    return noted(f"GPU {address} recorded {_codes(events)}", *evidence, subject=address)


def _judge_grave(snapshot: "Snapshot", log: "KernelLog", events: list["LogEvent"]) -> Outcome:
    """What NVML says now counts for more than what the log said then: a reset may have mended it."""
    address = events[0].address
    evidence = [quote_event(event, log) for event in events[:3]]
    action = recovery_asked(snapshot, address)
    if action == 0:
        return warned(
            f"GPU {address} had {_codes(events)} since boot; the driver asks for no recovery now",
            *evidence,
            Evidence("recovery action: none", "nvmlDeviceGetFieldValues"),
            subject=address,
        )
    remedy = POWER_REMEDY if any(event.code in GONE for event in events) else _reset_remedy(address)
    return failed(f"GPU {address} had {_codes(events)}", *evidence, subject=address, remedy=remedy)


def _is_judged_by_nvml(snapshot: "Snapshot", event: "LogEvent") -> bool:
    """What the counters say of memory now counts; one fault is told once, where its remedy is."""
    if event.code not in MEMORY_CODES:
        return False
    gpu = find_nvml_gpu(snapshot, event.address)
    return gpu is not None and isinstance(gpu.ecc_uncorrected, int)


def check_recovery_action(snapshot: "Snapshot") -> Answer:
    """Xid 154 names what has to be done; NVML says whether it still has."""
    return _by_gpu(snapshot, (), "the driver asked for no recovery", _judge_recovery, codes=(RECOVERY_CODE,))


def _judge_recovery(snapshot: "Snapshot", log: "KernelLog", events: list["LogEvent"]) -> Outcome:
    event = events[-1]
    asked = parse_recovery_action(event.text)
    live = recovery_asked(snapshot, event.address)
    action = asked if live is None else live
    evidence = [quote_event(event, log)]
    if action == 0:
        return passed(f"GPU {event.address} needs no recovery any more", *evidence, subject=event.address)
    if live is not None:
        return noted(f"the driver asks for recovery of GPU {event.address}; NVML is judged", subject=event.address)
    if action is None:
        return unseen(Unknown("the action that the log names cannot be read"), event.address)
    words = RECOVERY_ACTIONS.get(action, f"action {action}")
    return failed(
        f"the driver asks to {words} ({event.address})",
        *evidence,
        subject=event.address,
        remedy=_recovery_remedy(action, event.address),
    )


def check_burst(snapshot: "Snapshot") -> Answer:
    """A storm hides what matters, and fills disks."""
    log = find_log(snapshot)
    if isinstance(log, Unknown):
        return unseen(log)
    found = [_judge_rate(rate.address, rate.per_minute, log) for rate in log.rates if rate.per_minute > MANY_PER_MINUTE]
    return tuple(found) or passed(none_seen(log, f"never more than {MANY_PER_MINUTE} events of one device a minute"))


def _judge_rate(address: str, rate: int, log: "KernelLog") -> Outcome:
    events = sorted((event for event in log.events if event.address == address), key=lambda event: -event.times)
    evidence = [quote_event(event, log) for event in events[:3]]
    message = f"{rate} fault messages of {address} within one minute"
    verdict = failed if rate > STORM_PER_MINUTE else warned
    return verdict(message, *evidence, subject=address)


def check_unknown_code(snapshot: "Snapshot") -> Outcome:
    """A driver that is newer than the table."""
    log = find_log(snapshot)
    if isinstance(log, Unknown):
        return unseen(log)
    events = [event for event in _xids(log) if event.code not in XIDS]
    if not events:
        return passed(none_seen(log, "no unknown Xid was logged"))
    return warned(
        f"{_codes(events)} is not in ctk's table of {DATE}", *(quote_event(event, log) for event in events[:3])
    )


Judge = Callable[["Snapshot", "KernelLog", "list[LogEvent]"], Outcome]


def _by_gpu(
    snapshot: "Snapshot", kinds: tuple[str, ...], none: str, judge: Judge, codes: tuple[int, ...] = ()
) -> Answer:
    """One outcome for each GPU that has events of the classes, or with the codes; one that passes where none has."""
    log = find_log(snapshot)
    if isinstance(log, Unknown):
        return unseen(log)
    wanted = [event for event in _xids(log) if class_of(event) in kinds or event.code in codes]
    if not wanted:
        return passed(none_seen(log, none))
    addresses = dict.fromkeys(event.address for event in wanted)
    return tuple(judge(snapshot, log, [event for event in wanted if event.address == address]) for address in addresses)


def _codes(events: Iterable["LogEvent"]) -> str:
    """Words such as "Xid 79 (the GPU fell off the bus)", each code once."""
    return ", ".join(f"Xid {code} ({meaning_of(code)})" for code in dict.fromkeys(event.code for event in events))


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


BUG_REPORT = Command("nvidia-bug-report.sh")
POWER_REMEDY = Remedy(
    "Stop the jobs and switch the power off and on; if it happens again, check seat, cables and temperature",
    (Command("systemctl poweroff", stops_containers=True, reboots=True), BUG_REPORT),
)
SUSPECT_REMEDY = Remedy("Test the GPU with nothing else on it", (Command("dcgmi diag -r 3", stops_containers=True),))


def _reset_remedy(address: str) -> Remedy:
    return Remedy(
        "Stop what uses the GPU and reset it; reboot if the reset fails; if the fault comes back, have it replaced",
        (Command(f"nvidia-smi --gpu-reset -i {address}", stops_containers=True), BUG_REPORT),
    )


def _recovery_remedy(action: int, address: str) -> Remedy:
    if action in (1, 4):
        return _reset_remedy(address)
    if action == 5:
        command = Command("systemctl restart nvidia-imex.service", restarts=("nvidia-imex.service",))
        return Remedy("Recover the IMEX domain on all of its nodes", (command,))
    if action == 3:
        return Remedy("Stop the jobs on the GPUs that talk to this one, and start them elsewhere")
    return Remedy("Stop the jobs and reboot", (Command("systemctl reboot", stops_containers=True, reboots=True),))


READS = "Xid lines of the kernel's log of this boot, and the recovery action that NVML reports"
LOG = ("collect.kernel-log",)
XID_CHECKS = (
    Check(
        id="xid.summary",
        title="Xid messages since boot",
        group=GROUP,
        layer="L6",
        severity=NOTE,
        evaluate=check_summary,
        reads="Xid lines of the kernel's log of this boot",
        rule="pass without any, else a note with the kinds and how often; never a failure by itself",
        source=SOURCE,
        needs=LOG,
        explains=("is it the hardware or my program?",),
    ),
    Check(
        id="xid.application",
        title="faults of programs stay with the programs",
        group=GROUP,
        layer="L6",
        severity=LOW,
        evaluate=check_application,
        reads="Xid lines of the class of programs, with the names of the programs; the number of GPUs on the bus",
        rule="a note; a warning when one code hits several programs on one GPU of several, and no other GPU",
        source=SOURCE,
        needs=LOG,
        explains=("CUDA error: an illegal memory access was encountered", "CUDA error: unspecified launch failure"),
    ),
    Check(
        id="xid.driver",
        title="driver and firmware did not give up on a GPU",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_driver,
        reads=READS,
        rule="a failure for each GPU with such a code since boot; a warning where NVML asks for none now; a note "
        "for 119 and 120, which driver.gsp-state judges",
        source=SOURCE,
        needs=(*LOG, "pci.fell-off-bus", "xid.repeat"),
        explains=("a program or nvidia-smi hangs", "CUDA error: the launch timed out and was terminated"),
        remedy=Remedy("Do what the code asks for: mostly a reset of the GPU, or a reboot"),
        fix="disruptive",
    ),
    Check(
        id="xid.hardware",
        title="no hardware fault of a GPU was logged",
        group=GROUP,
        layer="L6",
        severity=CRITICAL,
        evaluate=check_hardware,
        reads=READS,
        rule="a failure for each GPU with a code that asks for a reset or for support; a warning where NVML asks for "
        "no recovery now; a note for what was only recorded, such as a remapped row, and for faults of memory where "
        "NVML's counters are known",
        source=SOURCE,
        needs=(*LOG, "pci.fell-off-bus", "pci.power-cable", "xid.repeat"),
        explains=(
            "CUDA error: uncorrectable ECC error encountered",
            "Unable to determine the device handle: GPU is lost",
        ),
        remedy=Remedy("Stop what uses the GPU and reset it; if the fault comes back, have it replaced"),
        fix="disruptive",
    ),
    Check(
        id="xid.recovery-action",
        title="the recovery that the driver asked for was done",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_recovery_action,
        reads="the last Xid 154 of each GPU, and the recovery action that NVML reports",
        rule="pass when NVML asks for none now, a note when it asks for one; without NVML a failure if the log asks",
        source=SOURCE,
        needs=(*LOG, "xid.hardware", "xid.driver", "driver.gsp-state"),
        explains=("programs do not start on one of the GPUs",),
        remedy=Remedy("Do what the driver asks for: drain, reset, or reboot"),
        fix="disruptive",
    ),
    Check(
        id="xid.burst",
        title="fault messages come one by one",
        group=GROUP,
        layer="L6",
        severity=MEDIUM,
        evaluate=check_burst,
        reads="the times of all Xid and SXid lines",
        rule=f"a warning above {MANY_PER_MINUTE} a minute for one device, a failure above {STORM_PER_MINUTE}; the "
        "numbers are ctk's own",
        source="ctk",
        needs=(*LOG, "xid.hardware", "xid.driver", "sxid.fatal"),
        explains=("the disk of the logs fills up",),
        remedy=Remedy("Stop the program that the messages name, then look for the first of them"),
    ),
    Check(
        id="xid.unknown-code",
        title="all codes are known",
        group=GROUP,
        layer="L6",
        severity=LOW,
        evaluate=check_unknown_code,
        reads="the codes of all Xid lines",
        rule=f"a warning for a code that is not in ctk's table of {DATE}",
        source=SOURCE,
        needs=LOG,
        remedy=Remedy("Look the code up in NVIDIA's Xid catalogue, and update ctk"),
    ),
)
