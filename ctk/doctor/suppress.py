"""Applies what the host's owner switched off: findings are marked, none is dropped; it reads no file."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ctk.doctor.model import FAIL, UNKNOWN, WARN, Finding
from ctk.facts.suppressions import Suppression, Suppressions

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

CAN_BE_SWITCHED_OFF = (FAIL, WARN, UNKNOWN)


def suppress(findings: Sequence[Finding], snapshot: "Snapshot") -> tuple[Finding, ...]:
    """The same findings; those that a row in force names carry its reason. A passing one is never marked."""
    known = snapshot.suppressions
    if not isinstance(known, Suppressions):
        return tuple(findings)
    rows = [row for row in known.rows if not is_expired(row, snapshot.taken_at)]
    return tuple(_mark(finding, rows) for finding in findings)


def _mark(finding: Finding, rows: Sequence[Suppression]) -> Finding:
    if finding.status not in CAN_BE_SWITCHED_OFF:
        return finding
    reason = next((row.reason for row in rows if _names(row, finding)), "")
    return finding._replace(suppressed=reason) if reason else finding


def _names(row: Suppression, finding: Finding) -> bool:
    if not fnmatchcase(finding.check.id, row.id):
        return False
    return row.subject is None or fnmatchcase(finding.outcome.subject, row.subject)


def is_expired(row: Suppression, taken_at: str) -> bool:
    """The day after the last one; both are UTC. A snapshot is judged by the day it was taken."""
    return row.expires is not None and taken_at[:10] > row.expires


def describe_suppressions(snapshot: "Snapshot", ids: Sequence[str]) -> tuple[str, ...]:
    """What is to be said of the file: rows that cannot be used, have expired, or name no check of `ids`."""
    known = snapshot.suppressions
    if not isinstance(known, Suppressions):
        return ()
    said = [f"{known.path}: {fault}" for fault in known.faults]
    for row in known.rows:
        name = f"{row.id} [{row.subject}]" if row.subject else row.id
        if is_expired(row, snapshot.taken_at):
            said.append(f"{known.path}: {name} counts again: it was switched off until {row.expires} ({row.reason})")
        if not any(fnmatchcase(identity, row.id) for identity in ids):
            said.append(f"{known.path}: {row.id} names no check; see ctk doctor list")
    return tuple(said)
