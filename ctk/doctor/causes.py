"""Finds root causes: a failure whose prerequisite fails too is explained by that one; changes no status."""

from collections.abc import Mapping, Sequence

from ctk.doctor.model import FAIL, LAYERS, SEVERITIES, Finding


def find_causes(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The same findings with caused_by and masks filled in.

    A failure with a failing prerequisite, through any number of steps, is explained by the deepest failing ones. Only
    failures explain: warnings and "could not look" never do. Where both name a subject, it must be the same.
    """
    by_check: dict[str, list[Finding]] = {}
    for finding in findings:
        by_check.setdefault(finding.check.id, []).append(finding)
    causes = {finding.key: _roots_above(finding, by_check) for finding in findings if finding.status == FAIL}
    masks: dict[str, list[str]] = {}
    for key, roots in causes.items():
        for root in roots:
            masks.setdefault(root, []).append(key)
    return tuple(
        finding._replace(caused_by=causes.get(finding.key, ()), masks=tuple(masks.get(finding.key, ())))
        for finding in findings
    )


def _roots_above(finding: Finding, by_check: Mapping[str, Sequence[Finding]]) -> tuple[str, ...]:
    """Keys of the failing ancestors that have no failing ancestor themselves."""
    failing = _failing_ancestors(finding, by_check)
    roots = [ancestor.key for ancestor in failing if not _failing_ancestors(ancestor, by_check)]
    return tuple(dict.fromkeys(roots))


def _failing_ancestors(finding: Finding, by_check: Mapping[str, Sequence[Finding]]) -> list[Finding]:
    found: list[Finding] = []
    seen = {finding.check.id}
    pending = list(finding.check.needs)
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for ancestor in by_check.get(name, ()):
            pending += ancestor.check.needs
            if ancestor.status == FAIL and _is_same_subject(finding, ancestor):
                found.append(ancestor)
    return found


def _is_same_subject(finding: Finding, ancestor: Finding) -> bool:
    one, other = finding.outcome.subject, ancestor.outcome.subject
    return not one or not other or one == other


def root_causes(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The roots: by severity, then the lowest layer, then how much they explain."""
    roots = [finding for finding in findings if finding.is_root]
    return tuple(sorted(roots, key=_rank))


def _rank(finding: Finding) -> tuple[int, int, int, str]:
    return (
        SEVERITIES.index(finding.severity),
        LAYERS.index(finding.check.layer),
        -len(finding.masks),
        finding.key,
    )
