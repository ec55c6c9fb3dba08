"""Every check runs, a crash is a finding of its own, and the command line's words choose among them."""

import pytest

from ctk.doctor.model import ERROR, FAIL, INSTALL, PASS, SECURITY, TRIAGE, Outcome, failed, passed
from ctk.doctor.run import run_checks, select_checks
from tests.builders import make_snapshot
from tests.unit.doctor.rows import make_check


def test_all_outcomes_come_in_the_order_of_the_table() -> None:
    checks = (
        make_check("b", outcome=(passed("one", subject="x"), failed("two", subject="y"))),
        make_check("none", outcome=()),
        make_check("a", outcome=failed("three")),
    )
    findings = run_checks(checks, make_snapshot())
    assert [(item.key, item.status) for item in findings] == [("b[x]", PASS), ("b[y]", FAIL), ("a", FAIL)]


@pytest.mark.parametrize(
    "answer",
    [KeyError("gpu"), RecursionError("deep"), Outcome("fine", "no such status"), (passed("x"), "text"), 7],
    ids=["raises", "too-deep", "status", "text", "number"],
)
def test_a_broken_check_is_an_error_and_hides_no_other(answer: object) -> None:
    findings = run_checks((make_check("broken", outcome=answer), make_check("sound")), make_snapshot())
    assert [(item.key, item.status) for item in findings] == [("broken", ERROR), ("sound", PASS)]
    assert findings[0].outcome.message.startswith("a bug in ctk: ")


CHECKS = (
    make_check("driver.installed", profiles=(INSTALL, TRIAGE)),
    make_check("driver.version", profiles=(TRIAGE,)),
    make_check("security.cve", profiles=(SECURITY,)),
)


@pytest.mark.parametrize(
    ("profile", "only", "skip", "expected"),
    [
        ("triage", (), (), ["driver.installed", "driver.version"]),
        ("install", (), (), ["driver.installed"]),
        ("security", (), (), ["security.cve"]),
        ("all", (), (), ["driver.installed", "driver.version", "security.cve"]),
        ("install", ("security.*",), (), ["security.cve"]),
        ("triage", ("*",), ("driver.*",), ["security.cve"]),
        ("triage", (), ("driver.version",), ["driver.installed"]),
    ],
)
def test_selection(profile: str, only: tuple[str, ...], skip: tuple[str, ...], expected: list[str]) -> None:
    chosen = select_checks(CHECKS, profile=profile, only=only, skip=skip)
    assert [check.id for check in chosen] == expected
