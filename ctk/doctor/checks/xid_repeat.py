"""Whether a grave fault of a GPU came back after the machine was started anew; other faults are judged elsewhere."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.log_lines import find_log, none_seen, quote_event
from ctk.doctor.checks.xid import BUG_REPORT, GROUP, LOG, meaning_of
from ctk.doctor.model import HIGH, Check, Evidence, Outcome, Remedy, failed, passed, unseen, warned
from ctk.facts import Unknown
from ctk.formats.xid import GRAVE_CODES

if TYPE_CHECKING:
    from ctk.facts.kernel_log import KernelLog, LogEvent
    from ctk.facts.snapshot import Snapshot

BOOTS = 2
"""After so many restarts the next one will not mend it either: leptonai/gpud draws the line there."""


def check_repeat(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """The same code on the same GPU, now and in logs of earlier boots."""
    log = find_log(snapshot)
    if isinstance(log, Unknown):
        return unseen(log)
    events = log.events_of(*GRAVE_CODES)
    if not events:
        return passed(none_seen(log, "no fault that could repeat was logged"))
    if not isinstance(log.earlier, tuple):
        return unseen(log.earlier or Unknown("logs of earlier boots were not looked at"))
    repeated = [event for event in events if log.earlier_boots(event.address, event.code)]
    return tuple(_judge(event, log) for event in repeated) or passed("the logs of earlier boots have no such fault")


def _judge(event: "LogEvent", log: "KernelLog") -> Outcome:
    boots = log.earlier_boots(event.address, event.code)
    words = f"GPU {event.address} has Xid {event.code} ({meaning_of(event.code)}) again"
    evidence = (quote_event(event, log), Evidence(f"also in {boots} earlier boots", "logs of earlier boots"))
    if boots >= BOOTS:
        return failed(f"{words}, after {boots} restarts: the hardware is at fault", *evidence, subject=event.address)
    return warned(f"{words}, after a restart", *evidence, subject=event.address)


XID_REPEAT_CHECKS = (
    Check(
        id="xid.repeat",
        title="the same fault does not come back after a reset",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_repeat,
        reads="grave Xids of this boot; of earlier boots from the journal, else from syslog's files of 30 days",
        rule="fail when a GPU has the same code that it had in two earlier boots, warn after one; unknown when no log "
        "of earlier boots is kept",
        source="leptonai/gpud, its escalation after two reboots",
        needs=(*LOG, "pci.fell-off-bus"),
        explains=("it is restarted again and again and never cured",),
        remedy=Remedy(
            "Take the GPU out of service and open a case with NVIDIA; a restart will not mend it", (BUG_REPORT,)
        ),
        fix="manual",
    ),
)
