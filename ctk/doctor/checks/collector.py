"""How far the other answers can be trusted: rights, scope, log, clock, tables; it says nothing of GPUs."""

from typing import TYPE_CHECKING

from ctk.doctor.data.dates import TABLES
from ctk.doctor.model import (
    HIGH,
    INSTALL,
    LOW,
    MEDIUM,
    NOTE,
    TRIAGE,
    Check,
    Command,
    Evidence,
    Outcome,
    Remedy,
    noted,
    passed,
    skipped,
    unseen,
    warned,
)
from ctk.facts import Unknown
from ctk.facts.kernel import Kernel
from ctk.facts.observer import Observer
from ctk.facts.unknowns import find_unknowns

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

GROUP = "Collector self-checks"
DENIED = ("permission denied", "operation not permitted")
MISSING = ("not collected in this run", "not recorded in this snapshot")
SYSTEM_CONTAINERS = ("lxc", "lxc-libvirt", "systemd-nspawn", "openvz", "vz")
"""Containers that are run like hosts: what is installed in them is theirs, and GPU containers may run inside."""
STALE_DAYS = 90
PARTS_SHOWN = 4
SLACK_SECONDS = 120
RING = "/dev/kmsg"


def check_privileges(snapshot: "Snapshot") -> Outcome:
    """What was denied is unknown, never a failure; this says that more can be known."""
    observer = snapshot.observer
    places = [place for place, fact in find_unknowns(snapshot) if _is_denied(place, fact)]
    who = [Evidence(f"user {observer.user_id}", "geteuid")] if isinstance(observer, Observer) else []
    if not places:
        return passed("everything that was asked for could be read", *who)
    parts = list(dict.fromkeys(place.split(".")[0].split("[")[0].replace("_", " ") for place in places))
    more = f" and {len(parts) - PARTS_SHOWN} more parts" if len(parts) > PARTS_SHOWN else ""
    shown = ", ".join(parts[:PARTS_SHOWN]) + more
    evidence = (*who, *(Evidence("permission denied", name) for name in places))
    if isinstance(observer, Observer) and observer.user_id == 0:
        return noted(f"even root was denied facts of {shown}", *evidence)
    return warned(f"permission was denied for facts of {shown}", *evidence)


def _is_denied(place: str, fact: Unknown) -> bool:
    """What a check of the run itself asks is no loss."""
    return fact.reason.lower().startswith(DENIED) and not place.startswith("observer.")


def check_scope(snapshot: "Snapshot") -> Outcome:
    """Inside an application's container, packages and engines are those of the container."""
    container, observer = snapshot.system.container, snapshot.observer
    if isinstance(container, str):
        evidence = Evidence(container, "marks of a container")
        if container in SYSTEM_CONTAINERS:
            return noted(f"this is a system container ({container}), judged as a host of its own", evidence)
        return warned(f"ctk looks from inside a container ({container}), so it sees little of the host", evidence)
    if isinstance(container, Unknown):
        return unseen(container)
    if isinstance(observer, Observer) and observer.shares_mounts is False:
        return warned(
            "ctk looks from inside a container or a chroot: process 1 has other file systems",
            Evidence("other mount namespace", "/proc/1/ns/mnt"),
        )
    return passed("ctk looks at the host itself")


def check_kernel_log(snapshot: "Snapshot") -> Outcome:
    """Checks of the log name the part they saw; this says whether that is all of this boot."""
    log = snapshot.kernel_log
    if log is None:
        return unseen(Unknown("no kernel log was found"))
    if isinstance(log, Unknown):
        return unseen(log)
    window = Evidence(_window(log.first_seconds, log.last_seconds), log.source)
    if log.suppressed:
        window = window._replace(value=f"{window.value}; the kernel left out messages {log.suppressed} times")
    if log.reaches_boot:
        return passed("the kernel's log reaches back to the boot", window)
    if log.source == RING and log.persistent_journal is False:
        return warned("the kernel's log has lost its beginning, and no journal keeps it", window)
    return noted("the kernel's log that was read does not reach back to the boot", window)


def _window(first: float | None, last: float | None) -> str:
    if first is None or last is None:
        return "times are not known"
    return f"{first:.0f} s to {last:.0f} s after the boot"


def check_boot_identity(snapshot: "Snapshot") -> Outcome:
    """Rules that compare times go wrong while the clock does."""
    observer, kernel = snapshot.observer, snapshot.kernel
    if isinstance(observer, Unknown):
        return unseen(observer)
    if not observer.is_live:
        return skipped("another root, or a snapshot of one: its clock is not this machine's")
    booted = kernel.booted_at if isinstance(kernel, Kernel) else kernel
    times = ((observer.newest_change, "the newest file below /etc and /run"), (booted, "btime of /proc/stat"))
    for time, source in times:
        if isinstance(time, str) and _is_later(time, snapshot.taken_at):
            return warned(
                f"the clock is behind: it shows {snapshot.taken_at}, but something happened at {time}",
                Evidence(time, source),
            )
    boot_id = observer.boot_id if isinstance(observer.boot_id, str) else "not known"
    return passed("boot and clock agree", Evidence(boot_id, "/proc/sys/kernel/random/boot_id"))


def _is_later(time: str, taken_at: str) -> bool:
    """By more than what passes while ctk looks around; a text that is no time is later than nothing."""
    from datetime import datetime, timedelta

    try:
        return datetime.fromisoformat(time) > datetime.fromisoformat(taken_at) + timedelta(seconds=SLACK_SECONDS)
    except (ValueError, TypeError):  # TypeError: only one of them has a time zone
        return False


def check_data_age(snapshot: "Snapshot") -> Outcome:
    """Old tables miss what is new; they are never a fault of the host."""
    from datetime import date

    try:
        today = date.fromisoformat(snapshot.taken_at[:10])
    except ValueError:
        return unseen(Unknown("the snapshot does not say when it was taken"))
    old = [(name, day) for name, day in TABLES if (today - date.fromisoformat(day)).days > STALE_DAYS]
    if not old:
        return passed(f"all of ctk's tables are younger than {STALE_DAYS} days")
    evidence = (Evidence(f"{name}: {day}", f"ctk/doctor/data/{name}.py") for name, day in old)
    return noted(
        f"{len(old)} of ctk's tables are older than {STALE_DAYS} days: newer things are not in them", *evidence
    )


def check_snapshot(snapshot: "Snapshot") -> Outcome:
    """A file from elsewhere may lack what this ctk would have looked at."""
    names = [name for name in type(snapshot).__dataclass_fields__ if _is_missing(getattr(snapshot, name))]
    if not names:
        return passed("all parts of the snapshot are there")
    return warned(f"the snapshot lacks {', '.join(names)}", *(Evidence("not there", name) for name in names))


def _is_missing(part: object) -> bool:
    return isinstance(part, Unknown) and part.reason in MISSING


COLLECTOR_CHECKS = (
    Check(
        id="collect.privileges",
        title="nothing was denied to ctk",
        group=GROUP,
        layer="L0",
        severity=MEDIUM,
        evaluate=check_privileges,
        reads="every fact that could not be looked at, the effective user",
        rule="a warning when permission was denied for anything; a note when it was denied to root",
        source="ctk",
        explains=("everything looks fine, but parts of the report are missing",),
        remedy=Remedy("Run it as root", (Command("sudo ctk doctor"),)),
    ),
    Check(
        id="collect.scope",
        title="ctk looks at the host, not into a container",
        group=GROUP,
        layer="L0",
        severity=HIGH,
        evaluate=check_scope,
        reads="marks of containers, the mount namespaces of process 1 and of ctk",
        rule="a warning inside an application's container or a chroot; a note inside a system container such as LXC",
        source="ctk",
        explains=("no engine and no driver is found, although the host has them",),
        remedy=Remedy(
            "Run it on the host; in a pod, mount the host's root and name it",
            (Command("ctk doctor --root /host"), Command("nsenter -t 1 -m -u -i -n -p -- ctk doctor")),
        ),
        profiles=(INSTALL, TRIAGE),
    ),
    Check(
        id="collect.kernel-log",
        title="the kernel's log reaches back to the boot",
        group=GROUP,
        layer="L0",
        severity=MEDIUM,
        evaluate=check_kernel_log,
        reads="/dev/kmsg, else the journal, else the files of syslog",
        rule="a warning when the ring has lost its beginning and no journal is kept; unknown when it may not be read",
        source="Linux, Documentation/ABI/testing/dev-kmsg; journald.conf(5)",
        explains=("a fault of last night is not reported",),
        remedy=Remedy(
            "Let the journal be kept on disk",
            (
                Command("mkdir -p /var/log/journal"),
                Command("systemctl restart systemd-journald.service", restarts=("systemd-journald.service",)),
            ),
        ),
    ),
    Check(
        id="collect.boot-identity",
        title="boot time and clock agree",
        group=GROUP,
        layer="L0",
        severity=NOTE,
        evaluate=check_boot_identity,
        reads="the boot's id and time, the clock, the times of a few files",
        rule="a warning when something happened after the time that the clock shows",
        source="ctk",
        explains=("a restart is said to be needed after there was one",),
        remedy=Remedy("Let the clock be set", (Command("timedatectl set-ntp true"),)),
    ),
    Check(
        id="collect.data-age",
        title="ctk's tables are young",
        group=GROUP,
        layer="L0",
        severity=LOW,
        evaluate=check_data_age,
        reads="the dates of ctk's own tables, the day the snapshot was taken",
        rule=f"a note when one is older than {STALE_DAYS} days; the number is ctk's own",
        source="ctk",
        remedy=Remedy("Install a newer ctk"),
    ),
    Check(
        id="collect.snapshot",
        title="the snapshot has all its parts",
        group=GROUP,
        layer="L0",
        severity=MEDIUM,
        evaluate=check_snapshot,
        reads="the parts of the snapshot",
        rule="a warning when parts were not collected, or the snapshot is of an older ctk",
        source="ctk",
        explains=("a report from a file knows less than one from the machine",),
        remedy=Remedy("Take it anew on the machine", (Command("sudo ctk info --save host.json"),)),
    ),
)
