"""Finds root causes: a failure whose prerequisite fails too is explained by that one; changes no status."""

from collections.abc import Iterable, Mapping, Sequence

from ctk.doctor.model import FAIL, LAYERS, SEVERITIES, Check, Finding

Needs = Mapping[str, tuple[str, ...]]
Failures = Mapping[str, Sequence[Finding]]


def find_causes(findings: Sequence[Finding], every_check: Iterable[Check] = ()) -> tuple[Finding, ...]:
    """The same findings with caused_by and masks filled in.

    A failure with a failing prerequisite, through any number of steps, is explained by the deepest failing ones. Only
    failures explain: warnings and "could not look" never do. Where both name a subject, it must be the same; a failure
    of the whole host that is itself explained by one GPU does not explain another GPU's.

    A root is as grave as the gravest of what it explains: a word on the kernel's command line is a note by itself, and
    critical where it keeps the driver away.

    every_check: the rows whose needs make up the chains, beside those of the findings: a check that was not chosen, or
    had nothing to say, is still a link.
    """
    needs = {check.id: check.needs for check in every_check}
    needs |= {finding.check.id: finding.check.needs for finding in findings}
    failures: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.status == FAIL:
            failures.setdefault(finding.check.id, []).append(finding)
    causes = {item.key: _roots_above(item, failures, needs) for members in failures.values() for item in members}
    masks: dict[str, list[Finding]] = {}
    for finding in findings:
        for root in causes.get(finding.key, ()):
            masks.setdefault(root, []).append(finding)
    return tuple(_with_causes(finding, causes, masks) for finding in findings)


def _with_causes(
    finding: Finding, causes: Mapping[str, tuple[str, ...]], masks: Mapping[str, Sequence[Finding]]
) -> Finding:
    if finding.status != FAIL:
        return finding
    explained = masks.get(finding.key, ())
    gravest = min((finding, *explained), key=lambda item: SEVERITIES.index(item.severity))
    outcome = finding.outcome if gravest is finding else finding.outcome._replace(severity=gravest.severity)
    masked = tuple(item.key for item in explained)
    return finding._replace(outcome=outcome, caused_by=causes[finding.key], masks=masked)


def _roots_above(finding: Finding, failures: Failures, needs: Needs) -> tuple[str, ...]:
    """Keys of the failing ancestors that have no failing ancestor themselves."""
    above = _failing_ancestors(finding, failures, needs)
    roots = [ancestor.key for ancestor in above if not _failing_ancestors(ancestor, failures, needs)]
    return tuple(dict.fromkeys(roots))


def _failing_ancestors(finding: Finding, failures: Failures, needs: Needs) -> list[Finding]:
    found: list[Finding] = []
    seen = {finding.check.id}
    pending = list(finding.check.needs)
    while pending:
        name = pending.pop(0)
        if name in seen:
            continue
        seen.add(name)
        pending += needs.get(name, ())
        found += [ancestor for ancestor in failures.get(name, ()) if _is_same_subject(finding, ancestor)]
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
