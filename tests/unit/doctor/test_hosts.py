"""Whole hosts of tests/hosts: exactly these root causes, these follow-ups, these warnings; and no check crashes."""

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.model import ERROR, FAIL, WARN
from ctk.doctor.parts import parts_of
from ctk.doctor.report import Report, judge
from ctk.doctor.run import run_checks, select_checks
from ctk.errors import EXIT_NOT_APPLICABLE
from ctk.facts.snapshot import NOT_COLLECTED, Snapshot
from tests.conftest import GoldenCheck
from tests.fake_host import HOSTS, names_of_hosts
from tests.memory_host import snapshot_in_memory
from tests.unit.doctor.test_checks import assert_parses, own_commands

NAMES = names_of_hosts()
JUDGED = [name for name in NAMES if (HOSTS / name / "host.toml").is_file()]
OTHERS = [name for name in NAMES if name not in JUDGED]


def write_expectation(report: Report) -> str:
    """A report as the file has it: one name a line, so that a difference is read at a glance."""
    lines = [f'verdict = "{report.verdict}"', f"exit_code = {report.exit_code(strict=False)}"]
    sets = (("roots", report.roots), ("masked", report.masked), ("warnings", report.with_status(WARN)))
    for name, findings in sets:
        keys = sorted({finding.key for finding in findings})
        lines += [f"{name} = []"] if not keys else [f"{name} = [", *(f'    "{key}",' for key in keys), "]"]
    return "\n".join(lines) + "\n"


@pytest.fixture
def report(request: pytest.FixtureRequest, tmp_path: Path) -> Report:
    snapshot = snapshot_in_memory(request.param, tmp_path / "host")
    return judge(snapshot, select_checks(ALL_CHECKS, profile=profile_of(request.param)), ALL_CHECKS)


def profile_of(name: str) -> str:
    """What `ctk doctor` looks for by itself, unless the host is there for another profile."""
    rows = HOSTS / name / "host.toml"
    chosen = tomllib.loads(rows.read_text(encoding="utf-8")).get("profile", "triage") if rows.is_file() else "triage"
    return str(chosen)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_every_check_says_the_same_of_what_would_be_collected_for_it_alone(name: str, tmp_path: Path) -> None:
    snapshot = snapshot_in_memory(name, tmp_path / "host")
    for check in ALL_CHECKS:
        parts = parts_of((check,))
        assert parts is None or run_checks((check,), without(snapshot, parts)) == run_checks((check,), snapshot)


def without(snapshot: Snapshot, parts: frozenset[str]) -> Snapshot:
    """What collect() returns when it is asked for these parts."""
    others = [field.name for field in dataclasses.fields(snapshot) if field.default is NOT_COLLECTED]
    others += ["engines", "kubelet", "docker_context", "cuda_probe"]
    gone: dict[str, Any] = dict.fromkeys((name for name in others if name not in parts), NOT_COLLECTED)
    return dataclasses.replace(snapshot, **gone)


def is_quick(name: str) -> bool:
    """Healthy hosts, and those with two faults; one fault a host is also a row of its check's own table."""
    file = HOSTS / name / "expected" / "doctor.toml"
    return "two" in name or not file.is_file() or "roots = []" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "report"),
    [pytest.param(name, name, marks=() if is_quick(name) else pytest.mark.long) for name in JUDGED],
    indirect=["report"],
    ids=JUDGED,
)
def test_exactly_these_findings(name: str, report: Report, assert_golden: GoldenCheck) -> None:
    text = write_expectation(report)
    read: dict[str, Any] = tomllib.loads(text)
    assert set(read) == {"verdict", "exit_code", "roots", "masked", "warnings"}
    assert_golden(HOSTS / name / "expected" / "doctor.toml", text)
    assert crashes(report) == []
    for words in (words for text in commands_of(report) for words in own_commands(text)):
        assert_parses(words)


def commands_of(report: Report) -> list[str]:
    remedies = [finding.remedy for finding in report.findings]
    return [command.text for remedy in remedies if remedy is not None for command in remedy.commands]


def crashes(report: Report) -> list[str]:
    return [finding.outcome.message for finding in report.findings if finding.status == ERROR]


@pytest.mark.parametrize("report", OTHERS, indirect=True, ids=OTHERS)
def test_no_check_crashes(report: Report) -> None:
    assert crashes(report) == []


@pytest.mark.parametrize("profile", ["install", "security", "all"])
@pytest.mark.parametrize("name", ["cpu-only", "cpu-only-docker", "wsl2-without-nvidia"])
def test_a_host_without_gpus_is_nobodys_business_under_any_profile(name: str, profile: str, tmp_path: Path) -> None:
    snapshot = snapshot_in_memory(name, tmp_path / "host")
    report = judge(snapshot, select_checks(ALL_CHECKS, profile=profile), ALL_CHECKS)
    assert [(item.key, item.outcome.message) for item in report.findings if item.status in (FAIL, WARN)] == []
    assert report.exit_code(strict=True) == EXIT_NOT_APPLICABLE
