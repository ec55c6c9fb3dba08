"""The verdict and the exit code come from the root causes; warnings, blind spots and switched-off findings follow."""

import pytest

from ctk.doctor.causes import find_causes
from ctk.doctor.model import ERROR, FAIL, INFO, PASS, SKIP, UNKNOWN, WARN, Finding, failed
from ctk.doctor.report import BROKEN, HEALTHY, INCOMPLETE, NOT_APPLICABLE, WARNINGS, Report, judge
from ctk.facts.suppressions import Suppression, Suppressions
from tests.builders import make_snapshot, make_tool
from tests.unit.doctor.rows import make_check, make_finding


def make_report(*findings: Finding, has_gpus: bool = True) -> Report:
    return Report(find_causes(findings), has_gpus)


@pytest.mark.parametrize(
    ("report", "verdict", "code", "strict_code"),
    [
        (make_report(), HEALTHY, 0, 0),
        (make_report(make_finding("a", status=PASS), make_finding("b", status=INFO)), HEALTHY, 0, 0),
        (make_report(make_finding("a", status=WARN)), WARNINGS, 0, 1),
        (make_report(make_finding("a"), make_finding("b", status=WARN)), BROKEN, 1, 1),
        (make_report(make_finding("a", status=UNKNOWN)), HEALTHY, 0, 0),
        (make_report(make_finding("a", status=UNKNOWN, decides=True)), INCOMPLETE, 3, 3),
        (make_report(make_finding("a", status=ERROR, decides=True)), INCOMPLETE, 3, 3),
        (make_report(make_finding("a", status=ERROR)), HEALTHY, 0, 0),
        (make_report(make_finding("a", status=UNKNOWN, decides=True), make_finding("b")), BROKEN, 1, 1),
        (
            make_report(make_finding("a", status=UNKNOWN, decides=True), make_finding("w", status=WARN)),
            INCOMPLETE,
            3,
            1,
        ),
        (make_report(make_finding("a", status=SKIP), has_gpus=False), NOT_APPLICABLE, 4, 4),
        (make_report(make_finding("a"), has_gpus=False), BROKEN, 1, 1),
        (make_report(make_finding("a", status=UNKNOWN, decides=True), has_gpus=False), NOT_APPLICABLE, 4, 4),
    ],
)
def test_verdict_and_exit_code(report: Report, verdict: str, code: int, strict_code: int) -> None:
    assert (report.verdict, report.exit_code(strict=False), report.exit_code(strict=True)) == (
        verdict,
        code,
        strict_code,
    )


def test_summary_counts_explained_and_switched_off_failures_apart() -> None:
    report = make_report(
        make_finding("a"),
        make_finding("b", "a"),
        make_finding("c")._replace(suppressed="known"),
        make_finding("d", status=WARN),
        make_finding("e", status=PASS),
    )
    counts = {name: number for name, number in report.summary().items() if number}
    assert counts == {"fail": 1, "masked": 1, "suppressed": 1, "warn": 1, "pass": 1}
    assert [item.key for item in report.roots] == ["a"]
    assert [item.key for item in report.masked] == ["b"]


def test_a_switched_off_cause_still_explains_and_does_not_count() -> None:
    checks = (make_check("a", outcome=failed("broken")), make_check("b", "a", outcome=failed("broken too")))
    rows = (Suppression(id="a", subject=None, reason="being replaced", expires=None),)
    known = Suppressions(path="/etc/ctk/doctor.toml", rows=rows, faults=())
    report = judge(make_snapshot(suppressions=known), checks)
    assert [(item.key, item.status, item.suppressed) for item in report.findings] == [
        ("a", FAIL, "being replaced"),
        ("b", FAIL, ""),
    ]
    assert report.findings[1].caused_by == ("a",)
    assert report.exit_code(strict=True) == 0


def test_checks_that_were_not_chosen_are_links_all_the_same() -> None:
    first, last = make_check("a", outcome=failed("broken")), make_check("c", "b", outcome=failed("broken too"))
    report = judge(make_snapshot(), (first, last), (first, make_check("b", "a"), last))
    assert [item.key for item in report.roots] == ["a"]


def test_a_host_without_anything_of_nvidia_is_not_applicable() -> None:
    assert judge(make_snapshot(toolkit=(make_tool(path=None),)), ()).verdict == NOT_APPLICABLE
    assert judge(make_snapshot(toolkit=(make_tool(name="ctk"),)), ()).verdict == NOT_APPLICABLE
    assert judge(make_snapshot(toolkit=(make_tool(),)), ()).verdict == HEALTHY
