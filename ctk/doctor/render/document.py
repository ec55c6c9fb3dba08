"""A report as data for JSON; its keys are a contract (docs/reference/json.md)."""

from typing import TYPE_CHECKING

from ctk.doctor.model import Check, Command, Finding, Remedy
from ctk.doctor.render.words import command_text
from ctk.doctor.report import Report
from ctk.facts import Unknown

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot


def report_to_document(report: Report, snapshot: "Snapshot") -> dict[str, object]:
    """root_causes, caused_by and masks hold ids, with the subject in brackets behind those that have one."""
    return {
        "verdict": report.verdict,
        "summary": report.summary(),
        "root_causes": [finding.key for finding in report.roots],
        "findings": [finding_to_document(finding) for finding in report.findings],
        "host": host_to_document(snapshot),
    }


def finding_to_document(finding: Finding) -> dict[str, object]:
    """One finding. subject and suppressed are null where there is none."""
    check, outcome = finding.check, finding.outcome
    return {
        "id": check.id,
        "title": check.title,
        "status": outcome.status,
        "severity": finding.severity,
        "layer": check.layer,
        "subject": outcome.subject or None,
        "message": outcome.message,
        "evidence": [item._asdict() for item in outcome.evidence],
        "explains": list(check.explains),
        "remedy": remedy_to_document(finding.remedy),
        "fix": check.fix,
        "caused_by": list(finding.caused_by),
        "masks": list(finding.masks),
        "suppressed": finding.suppressed or None,
    }


def remedy_to_document(remedy: Remedy | None) -> dict[str, object] | None:
    """A remedy with what each of its commands does to the host."""
    if remedy is None:
        return None
    commands = [_command_to_document(command) for command in remedy.commands]
    return {"summary": remedy.summary, "commands": commands, "doc": remedy.doc or None}


def _command_to_document(command: Command) -> dict[str, object]:
    document = {**command._asdict(), "text": command_text(command), "restarts": list(command.restarts)}
    del document["only_on"]
    return document


def host_to_document(snapshot: "Snapshot") -> dict[str, object]:
    """Which kind of host was judged, and when; no name and no address."""
    system = snapshot.system
    facts: dict[str, object] = {
        "distribution": system.distribution,
        "distribution_version": system.distribution_version,
        "kernel": system.kernel,
        "architecture": system.architecture,
        "container": system.container,
        "wsl": system.wsl,
        "jetson": system.jetson,
    }
    known = {name: {"unknown": fact.reason} if isinstance(fact, Unknown) else fact for name, fact in facts.items()}
    return {"taken_at": snapshot.taken_at, "ctk_version": snapshot.ctk_version, **known}


def check_to_document(check: Check) -> dict[str, object]:
    """One row of the catalogue."""
    return {
        "id": check.id,
        "title": check.title,
        "group": check.group,
        "layer": check.layer,
        "severity": check.severity,
        "fix": check.fix,
        "needs": list(check.needs),
        "profiles": list(check.profiles),
        "reads": check.reads,
        "rule": check.rule,
        "explains": list(check.explains),
        "remedy": remedy_to_document(check.remedy),
        "decides": check.decides,
        "source": check.source,
    }
