"""One run of the doctor as a value: findings with their causes, the verdict, the exit code; it renders nothing."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ctk.doctor.causes import find_causes, root_causes
from ctk.doctor.model import ERROR, STATUSES, UNKNOWN, WARN, Check, Finding
from ctk.doctor.run import run_checks
from ctk.errors import EXIT_FAILED, EXIT_NEGATIVE, EXIT_NOT_APPLICABLE, EXIT_OK

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

HEALTHY, WARNINGS, BROKEN, INCOMPLETE, NOT_APPLICABLE = "healthy", "warnings", "broken", "incomplete", "not-applicable"
VERDICTS = (HEALTHY, WARNINGS, BROKEN, INCOMPLETE, NOT_APPLICABLE)
MASKED, SUPPRESSED = "masked", "suppressed"
COUNTED = (*STATUSES, MASKED, SUPPRESSED)


class Report(NamedTuple):
    """What the doctor says of one host. has_gpus_or_traces False: there is nothing here to be judged."""

    findings: tuple[Finding, ...]
    has_gpus_or_traces: bool = True

    @property
    def roots(self) -> tuple[Finding, ...]:
        """The root causes that count, worst first."""
        return tuple(finding for finding in root_causes(self.findings) if not finding.suppressed)

    @property
    def masked(self) -> tuple[Finding, ...]:
        """The failures that another failure explains."""
        return tuple(finding for finding in self.findings if finding.is_masked and not finding.suppressed)

    def with_status(self, status: str) -> tuple[Finding, ...]:
        """The findings of one status that count, in the order of the table."""
        return tuple(finding for finding in self.findings if finding.status == status and not finding.suppressed)

    @property
    def undecided(self) -> tuple[Finding, ...]:
        """What could not be looked at, or crashed, and would have decided the answer."""
        return tuple(
            finding
            for finding in self.findings
            if finding.check.decides and finding.status in (UNKNOWN, ERROR) and not finding.suppressed
        )

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        if self.roots:
            return BROKEN
        if not self.has_gpus_or_traces:
            return NOT_APPLICABLE
        if self.undecided:
            return INCOMPLETE
        return WARNINGS if self.with_status(WARN) else HEALTHY

    def exit_code(self, *, strict: bool) -> int:
        """strict: a warning counts as a failure."""
        if self.roots or (strict and self.with_status(WARN)):
            return EXIT_NEGATIVE
        by_verdict = {NOT_APPLICABLE: EXIT_NOT_APPLICABLE, INCOMPLETE: EXIT_FAILED}
        return by_verdict.get(self.verdict, EXIT_OK)

    def summary(self) -> dict[str, int]:
        """How many findings of each status; failures that are explained count as masked, switched-off ones apart."""
        counts = dict.fromkeys(COUNTED, 0)
        for finding in self.findings:
            counts[_counted_as(finding)] += 1
        return counts


def _counted_as(finding: Finding) -> str:
    if finding.suppressed:
        return SUPPRESSED
    return MASKED if finding.is_masked else finding.status


def judge(snapshot: "Snapshot", checks: Iterable[Check], every_check: Iterable[Check] = ()) -> Report:
    """Runs the checks and finds the causes among them.

    every_check: all rows there are, so that a chain of prerequisites holds together where a link was not chosen.
    """
    from ctk.doctor.fit import fit_remedies
    from ctk.doctor.suppress import suppress

    found = find_causes(fit_remedies(run_checks(checks, snapshot), snapshot), every_check)
    return Report(suppress(found, snapshot), _has_gpus_or_traces(snapshot))


def _has_gpus_or_traces(snapshot: "Snapshot") -> bool:
    from ctk.doctor.checks.scope import has_gpus_or_traces

    return has_gpus_or_traces(snapshot)
