"""The verdict and the exit code come from the root causes; warnings, blind spots and switched-off findings follow."""

import pytest

from ctk.doctor.causes import find_causes
from ctk.doctor.model import ERROR, FAIL, INFO, PASS, SKIP, UNKNOWN, WARN, Finding, failed
from ctk.doctor.report import BROKEN, HEALTHY, INCOMPLETE, NOT_APPLICABLE, WARNINGS, Report, judge
from ctk.facts import Unknown
from ctk.facts.driver import Driver, DriverTrace
from ctk.facts.modules import Modules
from ctk.facts.pci import Pci, PciFunction
from ctk.facts.suppressions import Suppression, Suppressions
from tests.builders import make_snapshot, make_system, make_tool
from tests.driver_builders import make_loaded
from tests.unit.doctor.rows import make_check, make_finding


def make_gpu() -> PciFunction:
    return PciFunction(
        address="0000:3b:00.0",
        folder="/sys/bus/pci/devices/0000:3b:00.0",
        vendor_id=0x10DE,
        device_id=0x20B5,
        class_code=0x030200,
    )


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


NOTHING: dict[str, object] = {
    "pci": Pci(),
    "modules": Modules(),
    "driver": Driver(),
    "toolkit": (make_tool(path=None), make_tool(name="ctk")),
}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, NOT_APPLICABLE),
        ({"pci": None}, NOT_APPLICABLE),
        ({"pci": Unknown("no /sys")}, HEALTHY),
        ({"pci": Pci(functions=(make_gpu(),))}, HEALTHY),
        ({"toolkit": (make_tool(),)}, HEALTHY),
        ({"modules": Modules(loaded=(make_loaded(),))}, HEALTHY),
        ({"driver": Driver(traces=(DriverTrace("tool", "/usr/bin/nvidia-smi"),))}, HEALTHY),
        ({"system": make_system(wsl=2)}, HEALTHY),
        ({"system": make_system(jetson=True)}, HEALTHY),
    ],
)
def test_nothing_of_nvidia_is_not_applicable_and_a_trace_is_enough(changes: dict[str, object], verdict: str) -> None:
    assert judge(make_snapshot(**{**NOTHING, **changes}), ()).verdict == verdict
