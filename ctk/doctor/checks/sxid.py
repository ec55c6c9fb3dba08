"""What the kernel's log of this boot says of NVSwitch errors (SXid); the GPUs' own are judged elsewhere."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctk.doctor.checks.log_lines import find_log, none_seen
from ctk.doctor.data.xid import SXID_ALWAYS_FATAL, SXID_IGNORABLE, SXID_LINK_TROUBLE, SXID_RESET_ALL
from ctk.doctor.model import (
    CRITICAL,
    LOW,
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
from ctk.formats.xid import FATAL

if TYPE_CHECKING:
    from ctk.facts.kernel_log import KernelLog, LogEvent
    from ctk.facts.snapshot import Snapshot

GROUP = "Kernel log events: Xid and SXid"
SOURCE = "NVIDIA Fabric Manager user guide, appendix on NVSwitch errors"
MANY_ON_ONE_LINK = 3
Answer = Outcome | tuple[Outcome, ...]


def is_fatal(event: "LogEvent") -> bool:
    """The line calls it fatal, or the guide does whatever the line says."""
    return event.weight == FATAL or event.code in SXID_ALWAYS_FATAL or event.code in SXID_RESET_ALL


def check_fatal(snapshot: "Snapshot") -> Answer:
    """After one of these the fabric is down until all GPUs and switches were reset together."""
    log = find_log(snapshot)
    if isinstance(log, Unknown):
        return unseen(log)
    return _by_switch(log, [event for event in log.events if event.is_switch and is_fatal(event)]) or passed(
        none_seen(log, "no fatal NVSwitch error was logged")
    )


def _by_switch(log: "KernelLog", events: Sequence["LogEvent"]) -> tuple[Outcome, ...]:
    addresses = dict.fromkeys(event.address for event in events)
    return tuple(_failure(address, [e for e in events if e.address == address], log) for address in addresses)


def _failure(address: str, events: Sequence["LogEvent"], log: "KernelLog") -> Outcome:
    codes = ", ".join(dict.fromkeys(f"SXid {event.code}" for event in events))
    return failed(
        f"NVSwitch {address} had a fatal error ({codes})", *(_quote(e, log) for e in events[:3]), subject=address
    )


def check_nonfatal(snapshot: "Snapshot") -> Answer:
    """Replays and broken connections: a few are nothing, many on one link are a cable or a board."""
    log = find_log(snapshot)
    if isinstance(log, Unknown):
        return unseen(log)
    events = [event for event in log.events if event.is_switch and not is_fatal(event)]
    if not events:
        return passed(none_seen(log, "no NVSwitch error was logged"))
    return tuple(_judge_nonfatal(event, log) for event in events if event.code not in SXID_IGNORABLE) or noted(
        "only NVSwitch errors that need no action were logged", *(_quote(event, log) for event in events[:3])
    )


def _judge_nonfatal(event: "LogEvent", log: "KernelLog") -> Outcome:
    worst = max(event.links, key=lambda found: found.times, default=None)
    subject = f"{event.address} SXid {event.code}"
    if event.code in SXID_LINK_TROUBLE and worst is not None and worst.times >= MANY_ON_ONE_LINK:
        message = f"NVSwitch {event.address} had SXid {event.code} {worst.times} times on link {worst.link}"
        return warned(message, _quote(event, log), subject=subject)
    message = f"NVSwitch {event.address} had SXid {event.code}, which ends no more than the jobs on it"
    return noted(message, _quote(event, log), subject=subject)


def _quote(event: "LogEvent", log: "KernelLog") -> Evidence:
    times = f" ({event.times} times)" if event.times > 1 else ""
    return Evidence(f"SXid {event.code}: {event.text[:140]}{times}", f"kernel log, {log.source}")


SXID_CHECKS = (
    Check(
        id="sxid.fatal",
        title="no fatal NVSwitch error was logged",
        group=GROUP,
        layer="L6",
        severity=CRITICAL,
        evaluate=check_fatal,
        reads="SXid lines of the kernel's log of this boot",
        rule="a failure for each switch with a line that says fatal, or with a code that always is",
        source=SOURCE,
        needs=("collect.kernel-log",),
        explains=("CUDA error: system not yet initialized", "all jobs on the node end at once"),
        remedy=Remedy(
            "Stop all jobs, reset all GPUs and switches together, then start the fabric manager again; else reboot",
            (
                Command("nvidia-smi --gpu-reset", stops_containers=True),
                Command("systemctl restart nvidia-fabricmanager.service", restarts=("nvidia-fabricmanager.service",)),
            ),
        ),
        fix="disruptive",
    ),
    Check(
        id="sxid.nonfatal",
        title="NVSwitch errors that are not fatal are few",
        group=GROUP,
        layer="L6",
        severity=LOW,
        evaluate=check_nonfatal,
        reads="SXid lines of the kernel's log of this boot, with their links",
        rule=f"a warning when replays or broken connections come {MANY_ON_ONE_LINK} times or more on one link; else a "
        "note",
        source=SOURCE + "; the number is ctk's own",
        needs=("collect.kernel-log",),
        remedy=Remedy("Watch the link; if it goes on, have the board seated anew"),
    ),
)
