"""The words of the doctor: a check as a row, what it found, and what to do about it; evaluates nothing."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ctk.facts import Unknown

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

PASS, INFO, WARN, FAIL, SKIP, UNKNOWN, ERROR = "pass", "info", "warn", "fail", "skip", "unknown", "error"
STATUSES = (PASS, INFO, WARN, FAIL, SKIP, UNKNOWN, ERROR)
CRITICAL, HIGH, MEDIUM, LOW, NOTE = "critical", "high", "medium", "low", "info"
SEVERITIES = (CRITICAL, HIGH, MEDIUM, LOW, NOTE)
LAYERS = tuple(f"L{number}" for number in range(12))
FIX_CLASSES = ("none", "safe", "guarded", "disruptive", "manual")
INSTALL, TRIAGE, SECURITY = "install", "triage", "security"
PROFILES = (INSTALL, TRIAGE, SECURITY, "all")
DEBIAN, UBUNTU, RED_HAT, SUSE = "Debian", "Ubuntu", "Red Hat family", "SUSE"
APT = (DEBIAN, UBUNTU)
GPU, BRANCH = "<GPU>", "<BRANCH>"
"""In a command: the address of the GPU that the finding is of, and the driver's branch, such as 580."""


class Evidence(NamedTuple):
    """One observed value and where it came from: a path, with a line number if it has one, or an API's name."""

    value: str
    source: str


class Command(NamedTuple):
    """One command line of a remedy, and its blast radius. restarts: the units it restarts.

    only_on: the distributions it is for, all if empty; a host sees only its own (ctk.doctor.fit).
    """

    text: str
    needs_root: bool = True
    restarts: tuple[str, ...] = ()
    stops_containers: bool = False
    reboots: bool = False
    only_on: tuple[str, ...] = ()


class Remedy(NamedTuple):
    """What to do: one sentence, then the exact commands. doc: where it is described in more words."""

    summary: str
    commands: tuple[Command, ...] = ()
    doc: str = ""


class Outcome(NamedTuple):
    """What a check says of one subject: a GPU's address, an engine, a file; "" for the whole host.

    message is one plain sentence. remedy None = the row's; severity "" = the row's.
    """

    status: str
    message: str
    evidence: tuple[Evidence, ...] = ()
    subject: str = ""
    remedy: Remedy | None = None
    severity: str = ""


Evaluate = Callable[["Snapshot"], Outcome | tuple[Outcome, ...]]
"""A pure function of the snapshot. Several outcomes: one for each subject; none at all: the check does not apply."""


class Check(NamedTuple):
    """One row of the catalogue.

    needs: ids of the checks that must not fail for this one to say anything of its own. reads, rule, source: for
    `ctk doctor explain` and the reference page. explains: what users see because of it. profiles: INSTALL for what an
    installer can be blamed for, SECURITY for posture; every check is in "triage" and "all" unless it says otherwise.
    decides: if this one could not be looked at and nothing fails, the doctor's answer is incomplete (exit 3).
    """

    id: str
    title: str
    group: str
    layer: str
    severity: str
    evaluate: Evaluate
    reads: str
    rule: str
    source: str
    needs: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    remedy: Remedy | None = None
    fix: str = "none"
    profiles: tuple[str, ...] = (TRIAGE,)
    decides: bool = False


class Finding(NamedTuple):
    """One outcome with its row's facts. caused_by: root causes above it; masks: what it is the cause of.

    suppressed: why this host's owner switched it off (/etc/ctk/doctor.toml); "" for what counts.
    """

    check: Check
    outcome: Outcome
    caused_by: tuple[str, ...] = ()
    masks: tuple[str, ...] = ()
    suppressed: str = ""

    @property
    def status(self) -> str:
        """One of STATUSES."""
        return self.outcome.status

    @property
    def severity(self) -> str:
        """One of SEVERITIES."""
        return self.outcome.severity or self.check.severity

    @property
    def key(self) -> str:
        """The check's id, with the subject behind it where it has one."""
        return f"{self.check.id}[{self.outcome.subject}]" if self.outcome.subject else self.check.id

    @property
    def remedy(self) -> Remedy | None:
        """The outcome's own remedy, else the row's."""
        return self.outcome.remedy or self.check.remedy

    @property
    def is_root(self) -> bool:
        """Whether it fails and nothing else that fails explains it."""
        return self.status == FAIL and not self.caused_by

    @property
    def is_masked(self) -> bool:
        """Whether it fails and something else that fails explains it."""
        return self.status == FAIL and bool(self.caused_by)


def passed(message: str, *evidence: Evidence, subject: str = "") -> Outcome:
    """All is well."""
    return Outcome(PASS, message, evidence, subject)


def noted(message: str, *evidence: Evidence, subject: str = "") -> Outcome:
    """A fact worth knowing."""
    return Outcome(INFO, message, evidence, subject)


def warned(message: str, *evidence: Evidence, subject: str = "", remedy: Remedy | None = None) -> Outcome:
    """It works, but is at risk or degraded."""
    return Outcome(WARN, message, evidence, subject, remedy)


def failed(
    message: str, *evidence: Evidence, subject: str = "", remedy: Remedy | None = None, severity: str = ""
) -> Outcome:
    """Something does not work, or will not."""
    return Outcome(FAIL, message, evidence, subject, remedy, severity)


def skipped(why: str, subject: str = "") -> Outcome:
    """It does not apply here."""
    return Outcome(SKIP, why, (), subject)


def unseen(fact: Unknown, subject: str = "") -> Outcome:
    """Could not look; never a verdict."""
    return Outcome(UNKNOWN, f"could not look: {fact.reason}", (), subject)
