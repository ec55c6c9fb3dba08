"""/etc/ctk/doctor.toml: rows that are whole are taken, and what is wrong with the others is said."""

from pathlib import Path

import pytest

from ctk.facts.suppressions import Suppression
from ctk.host.suppressions import PATH, collect_suppressions, parse_suppressions
from tests.unit.host.trees import plant

WHOLE = """\
[[suppress]]
id = "pci.link-width"
subject = "0000:3b:00.0"
reason = " a riser of x8 "
expires = 2027-01-31

[[suppress]]
id = "host.*"
reason = "known"
expires = "2027-01-31"
"""


def test_rows_of_a_host(tmp_path: Path) -> None:
    found = collect_suppressions(plant(tmp_path, {PATH: WHOLE}))
    assert found is not None
    assert found == parse_suppressions(WHOLE)
    assert parse_suppressions(WHOLE).faults == ()
    assert parse_suppressions(WHOLE).rows == (
        Suppression(id="pci.link-width", subject="0000:3b:00.0", reason="a riser of x8", expires="2027-01-31"),
        Suppression(id="host.*", subject=None, reason="known", expires="2027-01-31"),
    )


def test_no_file_is_none(tmp_path: Path) -> None:
    assert collect_suppressions(plant(tmp_path, {})) is None


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ('reason = "x"', "it has no id"),
        ('id = ""\nreason = "x"', "it has no id"),
        ('id = "a"', "a: it has no reason"),
        ('id = "a"\nreason = " "', "a: it has no reason"),
        ('id = "a"\nreason = "x"\nsubject = 7', "a: its subject is no text"),
        ('id = "a"\nreason = "x"\nexpires = "soon"', "a: expires is 'soon', not a day such as 2027-01-31"),
        ('id = "a"\nreason = "x"\nuntil = 7', "'until' means nothing here; keys are id, subject, reason, expires"),
    ],
)
def test_a_row_that_is_not_whole_is_named_and_the_others_stand(row: str, fault: str) -> None:
    found = parse_suppressions(f'[[suppress]]\n{row}\n[[suppress]]\nid = "b"\nreason = "y"\n')
    assert found.faults == (f"row 1: {fault}",)
    assert [item.id for item in found.rows] == ["b"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("suppress", "it is not valid TOML: "),
        ("suppress = 7", "'suppress' is no list; write [[suppress]]"),
        ("[ignore]", "'ignore' means nothing here; rows are [[suppress]]"),
        ("suppress = [7]", "row 1: it is no table"),
    ],
)
def test_a_file_that_means_nothing_says_why(text: str, fault: str) -> None:
    found = parse_suppressions(text)
    assert found.rows == ()
    assert found.faults[0].startswith(fault)


def test_times_are_days() -> None:
    text = '[[suppress]]\nid = "a"\nreason = "x"\nexpires = 2027-01-31T23:00:00Z\n'
    assert parse_suppressions(text).rows[0].expires == "2027-01-31"
