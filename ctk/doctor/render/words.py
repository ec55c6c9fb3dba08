"""How findings are worded, whatever the format: verdict, risk of a command, counts; it lays nothing out."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ctk.doctor.model import (
    CRITICAL,
    ERROR,
    FAIL,
    GPU,
    HIGH,
    INFO,
    PASS,
    SECURITY,
    SKIP,
    UNKNOWN,
    WARN,
    Command,
    Evidence,
    Finding,
    Remedy,
)
from ctk.doctor.report import BROKEN, INCOMPLETE, MASKED, NOT_APPLICABLE, SUPPRESSED, Report

COUNT_WORDS = (
    (PASS, "passed"),
    (FAIL, "failed"),
    (MASKED, "explained by another failure"),
    (WARN, "warned"),
    (INFO, "noted"),
    (UNKNOWN, "could not be looked at"),
    (ERROR, "crashed"),
    (SKIP, "do not apply here"),
    (SUPPRESSED, "switched off"),
)


class Cause(NamedTuple):
    """One root cause as people see it: a check with all the subjects it fails for in the same way."""

    findings: tuple[Finding, ...]
    follow_ups: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """The one whose words stand for all."""
        return self.findings[0]

    @property
    def commands(self) -> tuple[Command, ...]:
        """Of all of them, step by step: what is done to each GPU comes before what comes after it."""
        from itertools import zip_longest

        remedies = [finding.remedy.commands for finding in self.findings if finding.remedy is not None]
        steps = (command for step in zip_longest(*remedies) for command in step if command is not None)
        return tuple(dict.fromkeys(steps))


def causes_of(report: Report) -> tuple[Cause, ...]:
    """The roots, worst first; those of one check with one remedy are one cause (eight GPUs, one missing step)."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for root in report.roots:
        groups.setdefault((root.check.id, _remedy_of_any_gpu(root), root.severity), []).append(root)
    return tuple(Cause(tuple(members), _follow_ups(report, members)) for members in groups.values())


def _remedy_of_any_gpu(root: Finding) -> Remedy | None:
    """Without the GPU's address, by which alone the steps of two GPUs may differ."""
    remedy, subject = root.remedy, root.outcome.subject
    if remedy is None or subject.count(":") != 2:
        return remedy
    commands = tuple(item._replace(text=item.text.replace(subject, GPU)) for item in remedy.commands)
    return remedy._replace(summary=remedy.summary.replace(subject, GPU), commands=commands)


def _follow_ups(report: Report, roots: Sequence[Finding]) -> tuple[Finding, ...]:
    keys = {root.key for root in roots}
    return tuple(finding for finding in report.masked if keys & set(finding.caused_by))


def verdict_line(report: Report) -> str:
    """The answer in one line."""
    if report.verdict == BROKEN:
        return f"{_how_bad(report)}: {_root_count(report)}"
    if report.verdict == NOT_APPLICABLE:
        return "Nothing to judge: there is no NVIDIA GPU here, and no trace of a driver or of GPU configuration"
    if report.verdict == INCOMPLETE:
        return f"Nothing that was looked at fails, but {_count(len(report.undecided), 'deciding check')} could not look"
    warnings = len(report.with_status(WARN))
    return f"No failure was found, but {_count(warnings, 'warning')}" if warnings else "No fault was found"


def _how_bad(report: Report) -> str:
    """What is a matter of posture alone keeps no GPU from a container."""
    faults = [root for root in report.roots if SECURITY not in root.check.profiles]
    if not faults:
        return "This host is open to misuse"
    worst = faults[0].severity
    if worst == CRITICAL:
        return "GPU containers cannot work on this host"
    return "Some GPU containers cannot work on this host" if worst == HIGH else "This host has a fault"


def _root_count(report: Report) -> str:
    words = _count(len(causes_of(report)), "root cause")
    masked = len(report.masked)
    return f"{words}, with {_count(masked, 'follow-up')}" if masked else words


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def count_line(report: Report) -> str:
    """How many findings of each kind; what is zero is left out, but for passes and failures."""
    summary = report.summary()
    parts = [f"{summary[key]} {words}" for key, words in COUNT_WORDS if summary[key] or key in (PASS, FAIL)]
    return ", ".join(parts)


def command_text(command: Command) -> str:
    """The line to be copied, with the distributions it is for as a comment where the host's is not known."""
    return f"{command.text}  # {', '.join(command.only_on)}" if command.only_on else command.text


def risk(command: Command) -> str:
    """What running it means, as words; "" for a command that only looks."""
    words = ["needs root"] if command.needs_root else []
    words += [f"restarts {', '.join(command.restarts)}"] if command.restarts else []
    words += ["stops containers"] if command.stops_containers else []
    words += ["reboots"] if command.reboots else []
    return ", ".join(words)


def evidence_line(evidence: Evidence) -> str:
    """The value, then where it comes from."""
    value, source = printable(evidence.value), printable(evidence.source)
    return f"{value or '(empty)'}  ({source})" if source else value


def title_of(finding: Finding) -> str:
    """The check's id, with its subject."""
    return f"{finding.check.id} {printable(finding.outcome.subject)}".rstrip()


def by_reason(findings: Iterable[Finding]) -> dict[str, list[str]]:
    """What could not be looked at: the checks of each reason, because one missing right hides many facts."""
    reasons: dict[str, list[str]] = {}
    for finding in findings:
        reasons.setdefault(printable(finding.outcome.message), []).append(title_of(finding))
    return reasons


def by_group(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """The findings by the group of their check, in the order they come."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.check.group, []).append(finding)
    return groups


def printable(text: str) -> str:
    """Without control characters: what a file or a log says must not steer the reader's terminal."""
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def _escape(character: str) -> str:
    return " " if character in "\t\n\r" else character.encode("unicode_escape", "surrogatepass").decode("ascii")
