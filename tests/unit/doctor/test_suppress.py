"""What the owner switched off is marked, not dropped; a row that has expired counts again, and says so."""

import pytest

from ctk.doctor.model import FAIL, PASS, WARN
from ctk.doctor.suppress import describe_suppressions, suppress
from ctk.facts import Unknown
from ctk.facts.suppressions import Suppression, Suppressions
from tests.builders import make_snapshot
from tests.unit.doctor.rows import make_finding

PATH = "/etc/ctk/doctor.toml"
GPU = "0000:3b:00.0"


def known(*rows: Suppression, faults: tuple[str, ...] = ()) -> Suppressions:
    return Suppressions(path=PATH, rows=rows, faults=faults)


def row(identity: str, subject: str | None = None, expires: str | None = None) -> Suppression:
    return Suppression(id=identity, subject=subject, reason="a riser of x8", expires=expires)


@pytest.mark.parametrize(
    ("rule", "marked"),
    [
        (row("pci.link-width"), True),
        (row("pci.*"), True),
        (row("pci.link-width", GPU), True),
        (row("pci.link-width", "0000:3b:*"), True),
        (row("pci.link-width", "0000:af:00.0"), False),
        (row("pci.link"), False),
        (row("pci.link-width", expires="2024-05-02"), True),
        (row("pci.link-width", expires="2024-05-01"), False),
    ],
)
def test_rows_name_findings(rule: Suppression, marked: bool) -> None:
    finding = make_finding("pci.link-width", status=WARN, subject=GPU)
    (found,) = suppress([finding], make_snapshot(suppressions=known(rule)))
    assert found.suppressed == ("a riser of x8" if marked else "")
    assert found.status == WARN


@pytest.mark.parametrize(
    ("status", "marked"), [(FAIL, True), (WARN, True), ("unknown", True), (PASS, False), ("info", False)]
)
def test_only_what_counts_can_be_switched_off(status: str, marked: bool) -> None:
    (found,) = suppress([make_finding("a", status=status)], make_snapshot(suppressions=known(row("a"))))
    assert bool(found.suppressed) is marked


@pytest.mark.parametrize("fact", [None, Unknown("permission denied")])
def test_no_file_switches_nothing_off(fact: None | Unknown) -> None:
    snapshot = make_snapshot(suppressions=fact)
    assert suppress([make_finding("a")], snapshot)[0].suppressed == ""
    assert describe_suppressions(snapshot, ["a"]) == ()


def test_what_is_to_be_said_of_the_file() -> None:
    rows = known(
        row("a", expires="2024-01-31"),
        row("b", GPU, "2024-01-31"),
        row("typo"),
        row("a"),
        faults=("row 9: it has no id",),
    )
    assert describe_suppressions(make_snapshot(suppressions=rows), ["a", "b"]) == (
        f"{PATH}: row 9: it has no id",
        f"{PATH}: a counts again: it was switched off until 2024-01-31 (a riser of x8)",
        f"{PATH}: b [{GPU}] counts again: it was switched off until 2024-01-31 (a riser of x8)",
        f"{PATH}: typo names no check; see ctk doctor list",
    )
